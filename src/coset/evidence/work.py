"""Spreads work over processes or machines: `spread(function, tasks)` gives back each task with its result when done.

Over the processes of this machine, or over an existing Dask cluster. A task whose process dies is tried once more by
itself and then handed back as failed; the others go on. Nothing here knows what the work is.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol, TypeVar

from coset.environment.leftovers import end_with_parent, sweep_temporary_folders
from coset.errors import CosetError, MissingDependency

Task = TypeVar("Task")
Answer = TypeVar("Answer")


class Spread(Protocol):
    """Runs a function over tasks, in any order; an exception stands in for the answer of a task that failed."""

    def __call__(
        self, function: Callable[[Task], Answer], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Answer | BaseException]]: ...


def here(function: Callable[[Task], Answer], tasks: Sequence[Task]) -> Iterator[tuple[Task, Answer | BaseException]]:
    """In this process, one after the other."""
    for task in tasks:
        try:
            yield task, function(task)
        except Exception as error:
            yield task, error


def over_processes(jobs: int) -> Spread:
    """Over so many processes of this machine."""

    def spread(
        function: Callable[[Task], Answer], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Answer | BaseException]]:
        if jobs <= 1 or len(tasks) <= 1:
            yield from here(function, tasks)
            return
        broken: list[Task] = []
        pool = _pool(jobs)
        try:
            futures: dict[Future[Answer], Task] = {pool.submit(function, task): task for task in tasks}
            for future in as_completed(futures):
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    broken.append(futures[future])
                else:
                    yield futures[future], error if error is not None else future.result()
        except BaseException:
            _kill(pool)  # Nobody waits for what they do any more.
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        for task in broken:  # One of them killed its process; each gets one of its own.
            yield task, _alone(function, task)

    return spread


def _pool(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=end_with_parent)


def _kill(pool: ProcessPoolExecutor) -> None:
    """End the processes of a pool now, and remove what they leave."""
    processes = list((getattr(pool, "_processes", None) or {}).values())
    for process in processes:
        process.kill()
    for process in processes:
        process.join(5)
    sweep_temporary_folders()


def _alone(function: Callable[[Task], Answer], task: Task) -> Answer | BaseException:
    with _pool(1) as pool:
        future = pool.submit(function, task)
        error = future.exception()
        return error if error is not None else future.result()


def over_cluster(address: str) -> Spread:
    """Over the workers of an existing Dask cluster, which must see the same files and reach the same databases."""
    try:
        import distributed
    except ImportError:
        raise MissingDependency("A Dask cluster", "cluster") from None
    library: Any = distributed  # It has no types of its own.
    try:
        client = library.Client(address, timeout="10s")
    except (OSError, TimeoutError) as error:
        raise CosetError(f"no Dask cluster answers at '{address}': start one, or leave --cluster out") from error

    def spread(
        function: Callable[[Task], Answer], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Answer | BaseException]]:
        try:
            futures = {client.submit(function, task, pure=False): task for task in tasks}
            for future in library.as_completed(futures):
                error = future.exception()
                yield futures[future], error if error is not None else future.result()
        finally:
            client.close()

    return spread
