# coset as a server: MCP over HTTP by default; any other command in its place. The folder with coset.yaml is mounted at
# /data, where the state is kept too. `python deploy/check.py` lints this file and runs its steps without a builder.
FROM python:3.11-slim-bookworm AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src ./src
RUN python -m venv /opt/coset \
    && /opt/coset/bin/pip install --no-cache-dir --no-compile --constraint constraints.txt ".[all,traces]"

FROM python:3.11-slim-bookworm
RUN useradd --uid 10001 --create-home --home-dir /data coset
COPY --from=build /opt/coset /opt/coset
ENV PATH=/opt/coset/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8765/health', timeout=4).read()"]
ENTRYPOINT ["coset"]
CMD ["mcp", "--http", "--host", "0.0.0.0", "--port", "8765", "--people", "people.yaml"]
