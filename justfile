# The chores. `just` lists them; `just check` before you hand in. Install: https://just.systems

_default:
    @just --list

# Install coset with all that developing needs, and the hooks that run before a commit.
setup:
    pip install -e '.[dev]' -c constraints.txt
    pre-commit install

# Lint and format.
lint:
    ruff check --fix .
    ruff format .

# Types.
types:
    mypy

# The tests of a folder or file; all of them without one.
test *paths:
    python -m pytest -n 2 {{paths}}

# How much of the code the tests run, by file.
coverage *paths:
    python -m pytest -n 2 --cov --cov-report=term --cov-report=html {{paths}}

# What CI runs, from a clean virtual environment.
check:
    .ci/run

# The command reference, figures and screenshots of the documentation (needs Chromium and Pillow).
docs:
    python docs/command_reference.py > docs/command-line.md
    python docs/python_reference.py > docs/python-reference.md
    python docs/figures.py

# Pictures of every page of `coset ui` at 1280 and 390 pixels, of a comprehended demo company.
screenshots environment folder="screenshots":
    python docs/page_screenshots.py {{environment}} {{folder}}

# A stranger's path through `coset ui`, from data that nobody has read to a right answer, with a picture of each step.
path folder pictures="screenshots":
    python docs/strangers_path.py {{folder}} {{pictures}}

# The documentation as a site with search, in site/.
site:
    NO_MKDOCS_2_WARNING=1 mkdocs build -q

# What the page uses of others (CodeMirror, Chart.js), bundled into its assets (needs npm).
libraries:
    cd src/coset/surfaces/web/libraries && npm install --no-package-lock && npm run build

# The versions that CI installs, renewed to those of this virtual environment.
constraints:
    pip freeze --exclude-editable | grep -v "^coset" > constraints.txt

# The demo company, made and asked.
demo:
    coset demo
