"""An open environment under use: shared by threads, interrupted, closed, changed by others, shown in a notebook."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

import coset
from answering.wire_servers import Fail, Wire, call
from api.mcp_processes import ENDLESS, workers_of
from api.server_processes import AT_MOST, until
from api.shop import SCRIPT, copy_of, write_shop
from coset.answering.audit import Runs
from coset.errors import CosetError, LimitReached, NotAllowed, UserError
from coset.use_cases.cancellation import Cancellation, Cancelled
from coset.use_cases.workspace import Sessions


def test_importing_coset_loads_no_library():
    script = (
        "import sys, coset\nassert 'open' in dir(coset)\n"
        "heavy = {'duckdb', 'pyarrow', 'numpy', 'pydantic', 'yaml', 'mcp', 'coset.api'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_an_environment_that_was_not_comprehended_says_what_to_do(tmp_path: Path):
    with coset.open(write_shop(tmp_path)) as environment:
        for look in (environment.relations, environment.memberships, environment.sources):
            with pytest.raises(UserError, match="run `coset comprehend`"):
                look()
        with pytest.raises(UserError, match="run `coset comprehend`"):
            environment.teach("shop.orders.amount", ".price_of")
        assert "coset comprehend" in environment._repr_html_()
        assert environment.sql("SELECT count(*) FROM crm.customers").rows == [(60,)]


def test_statements_of_several_threads_run_side_by_side(environment: coset.Environment):
    """One that never ends holds up nobody, and more callers than sessions are all served."""
    call = Cancellation()
    with ThreadPoolExecutor(13) as threads:
        endless = threads.submit(environment._sql, call, ENDLESS, None, None)
        rows = list(threads.map(lambda n: environment.sql(f"SELECT {n}").rows[0][0], range(12)))
        assert rows == list(range(12)) and not endless.done()
        call.cancel()
        with pytest.raises(Cancelled):
            endless.result(AT_MOST)


def test_cancelling_a_statement_ends_its_process(environment: coset.Environment):
    async def cancelled() -> set[int]:
        before = workers_of(psutil.Process())
        task = asyncio.create_task(environment.sql_async(ENDLESS))
        await asyncio.sleep(0.5)
        running = workers_of(psutil.Process()) | before
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return running

    running = asyncio.run(cancelled())
    until(lambda: running - workers_of(psutil.Process()) != set())
    for _ in range(5):  # More than there are sessions: none was lost.
        assert environment.sql("SELECT 1").rows == [(1,)]


def test_an_interrupted_statement_does_not_answer_the_next_one(shop: Path, tmp_path: Path):
    """Ctrl-C in a notebook: the answer that was on its way belongs to nobody."""
    script = (
        "import os, signal, threading, coset\n"
        f"with coset.open({str(shop)!r}) as environment:\n"
        "    environment.sql('SELECT 1')\n"
        "    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "    try:\n"
        f"        environment.sql({ENDLESS!r})\n"
        "    except KeyboardInterrupt:\n"
        "        print(environment.sql('SELECT 42').rows)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[(42,)]"


def test_a_caller_who_waits_for_a_session_can_be_stopped(environment: coset.Environment):
    sessions = Sessions(environment.configuration, most=1)
    waiting = Cancellation()
    with ThreadPoolExecutor(1) as threads:
        with sessions.lent():
            second = threads.submit(lambda: sessions.lent(waiting).__enter__())
            time.sleep(0.1)
            waiting.cancel()
            with pytest.raises(Cancelled):
                second.result(AT_MOST)
        with sessions.lent() as again:
            assert again.sql("SELECT 7").rows() == [(7,)]
    sessions.close()


def test_a_closed_environment_says_so(shop: Path):
    environment = coset.open(shop)
    environment.close()
    environment.close()
    with pytest.raises(CosetError, match="closed"):
        environment.sql("SELECT 1")
    with pytest.raises(CosetError, match="closed"):
        environment.ask("How many?", model="http://127.0.0.1:1/v1#none")


def test_the_session_refuses_and_limits_as_the_command_line_does(environment: coset.Environment):
    with pytest.raises(NotAllowed):
        environment.sql("DELETE FROM crm.customers")
    with pytest.raises(LimitReached, match=r"after 0\.3 seconds"):
        environment.sql(ENDLESS, seconds=0.3)
    with pytest.raises(UserError, match=r"did you mean crm\.customers"):
        environment.sql("SELECT * FROM crm.customer")


def test_what_a_notebook_shows_is_escaped(environment: coset.Environment):
    sql = "SELECT company_name AS \"<b>\" FROM crm.customers WHERE customer_id = 'CUST-0007'"
    shown = environment.sql(sql)._repr_html_()
    assert SCRIPT not in shown and "&lt;script&gt;" in shown and "<th>&lt;b&gt;</th>" in shown
    for page in (
        environment._repr_html_(),
        environment.relations()._repr_html_(),
        environment.memberships()._repr_html_(),
    ):
        assert page.startswith("<table>")
    assert "30 of 300 rows" in environment.sql("SELECT * FROM shop.orders")._repr_html_()
    assert "of more than 50 rows" in environment.sql("SELECT * FROM shop.orders", max_rows=50)._repr_html_()


def test_things_are_named_as_in_a_view_or_as_in_sql(environment: coset.Environment):
    for written in (
        "shop/orders.buyer",
        "shop.orders.buyer",
        "orders.buyer",
        "[shop/orders.buyer]",
        'shop."orders".buyer',
    ):
        assert environment.recover(written).reference == "shop/orders.buyer"
    join = environment.relations().dictionaries()[0]
    assert environment.recover(join["reference"]).kind == "join"
    for about in ("shop", "crm.customers", "shop/orders.buyer"):
        assert len(environment.relations(about)) == 1
    assert len(environment.relations("shop.orders.amount")) == 0
    with pytest.raises(UserError, match="orders"):
        environment.recover("shop/order")


def test_a_change_by_another_process_is_seen(shop: Path, tmp_path: Path):
    folder = copy_of(shop, tmp_path)
    with coset.open(folder) as environment, coset.open(folder) as other:
        assert "said by a person" not in environment.recover("shop.orders.amount").text
        other.teach("shop.orders.amount", ".price_of")
        changed = {row["reference"]: row["identity"] for row in environment.memberships().dictionaries()}
        assert changed["shop/orders.amount"] == "price_of"
        assert "price_of" in environment.recover("shop.orders.amount").text


def test_looking_and_teaching_at_once_leaves_nobody_with_an_error(shop: Path, tmp_path: Path):
    with coset.open(copy_of(shop, tmp_path)) as environment, ThreadPoolExecutor(4) as threads:
        looks = [threads.submit(environment.relations) for _ in range(6)]
        looks += [threads.submit(environment.memberships) for _ in range(3)]
        taught = environment.teach("shop.orders.amount", ".price_of")
        assert [len(look.result(AT_MOST)) for look in looks] == [1] * 6 + [16] * 3
        assert taught.statements[0].identity == "price_of"


def test_a_wrong_role_or_number_is_told(shop: Path, tmp_path: Path):
    with coset.open(copy_of(shop, tmp_path)) as environment:
        with pytest.raises(UserError, match="no identity"):
            environment.teach("shop.orders.amount", "nonesuch")
        with pytest.raises(UserError, match="no statement 99"):
            environment.revoke(99)


def test_comprehension_can_be_stopped_and_goes_on(tmp_path: Path):
    with coset.open(write_shop(tmp_path)) as environment:
        call = Cancellation(lambda progress: call.cancel())
        with pytest.raises(Cancelled):
            environment._comprehend(call, 1, False)
        assert environment.comprehend(jobs=1).roles.objects == 9


def test_calling_a_question_off_ends_the_run(shop: Path, tmp_path: Path):
    """The model thinks for a minute; nobody waits for it."""
    folder = copy_of(shop, tmp_path)

    async def called_off() -> None:
        told: list[str] = []
        task = asyncio.create_task(
            environment.ask_async(
                "How many?", model=wire.url, core=True, report=lambda progress: told.append(progress.message)
            )
        )
        while not wire.requests:
            await asyncio.sleep(0.02)
        assert told == ["chose the evidence"]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Wire(Fail(wait=AT_MOST)) as wire, coset.open(folder) as environment:
        asyncio.run(called_off())
        until(lambda: Runs(folder / ".coset").summary(1).status == "stopped")


def test_ask_works_where_an_event_loop_runs_already(shop: Path, tmp_path: Path):
    async def in_a_notebook() -> object:
        return environment.ask("How many?", model=wire.url, core=True).value

    script = [call("sql", query="SELECT 1"), call("answer", text="1", results=["result_1"])]
    with Wire(*script) as wire, coset.open(copy_of(shop, tmp_path)) as environment:
        assert asyncio.run(in_a_notebook()) == 1
        with pytest.raises(UserError, match="no such option"):
            environment.ask("How many?", model=wire.url, colour="red")


def test_roles_are_refused_when_the_inventory_changed_since(shop: Path, tmp_path: Path):
    folder = copy_of(shop, tmp_path)
    own = "entities:\n  - {id: loyalty_member, name: Loyalty member, meaning: a member}\n"
    (folder / "roles.yaml").write_text(own)
    with (folder / "coset.yaml").open("a") as file:
        file.write("identities: roles.yaml\n")
    with coset.open(folder) as environment:
        with pytest.raises(UserError, match="inventory has changed"):
            environment.memberships()
        environment.comprehend(jobs=1)
        assert len(environment.memberships()) == 16
