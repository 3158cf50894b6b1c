"""Stages that do not need each other, side by side in processes of one thread each.

In: named jobs. Out: nothing; each job keeps its own result. Small models train twice as fast on one thread each as on
two together, and one thread rounds the same on every machine. Whatever ends badly ends all of them, with its reason;
what a job has kept stays.
"""

from __future__ import annotations

import multiprocessing
import queue
from collections.abc import Callable, Mapping
from typing import Any

from coset.errors import CosetError

Report = Callable[[str, float], None]
Job = Callable[[Report], None]
"""A function of a module, or a partial of one: a new process must be able to find it."""
LOOKED_AFTER = 1.0
"""Seconds between looks at whether the processes are still there."""


def side_by_side(jobs: Mapping[str, Job], report: Report) -> None:
    """Run all jobs to their end; `report` hears all of them as one."""
    context = multiprocessing.get_context("spawn")
    told: Any = context.Queue()
    running = {name: context.Process(target=_run, args=(name, job, told), daemon=True) for name, job in jobs.items()}
    texts, shares = {name: f"{name}: begins" for name in jobs}, dict.fromkeys(jobs, 0.0)
    for process in running.values():
        process.start()
    try:
        while running:
            try:
                name, kind, text, share = told.get(timeout=LOOKED_AFTER)
            except queue.Empty:
                gone = [name for name, process in running.items() if process.exitcode is not None]
                if gone and told.empty():
                    raise CosetError(f"training of {gone[0]} ended without a word: was the memory enough?") from None
                continue
            if kind == "failed":
                raise CosetError(f"training of {name} failed: {text}")
            if kind == "ended":
                running.pop(name).join()
                texts.pop(name)
            else:
                texts[name] = text
            shares[name] = share
            report("; ".join(texts.values()), sum(shares.values()) / len(shares))
    finally:
        for process in running.values():
            process.terminate()
            process.join()


def _run(name: str, job: Job, told: Any) -> None:
    import torch

    torch.set_num_threads(1)
    try:
        job(lambda text, share: told.put((name, "goes on", text, share)))
    except Exception as error:
        told.put((name, "failed", str(error) or repr(error), 0.0))
    else:
        told.put((name, "ended", "", 1.0))
