"""Several threads where linear algebra would take several: each takes heads, or rows of one."""

from collections.abc import Callable, Iterable
from functools import cache
from threading import Lock
from typing import Any, TypeVar

Task = TypeVar("Task")

_one_at_a_time = Lock()  # the number of threads of BLAS is one number for the whole process


def over(work: Callable[[Task], None], tasks: Iterable[Task]) -> None:
    """Do all tasks, in as many threads as BLAS would take; each then has one thread of BLAS.

    So `OMP_NUM_THREADS` and threadpoolctl's limits hold here too. NumPy lets go of the interpreter
    in its loops and products. A call during another one finds one thread of BLAS, and takes one.
    """
    queue = list(tasks)
    workers = 1 if len(queue) < 2 else min(_threads(), len(queue))
    if workers == 1:
        for task in queue:
            work(task)
        return
    from concurrent.futures import ThreadPoolExecutor  # slow to import, and seldom needed

    with _one_at_a_time, _blas().limit(limits=1), ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, queue))


def _threads() -> int:
    return min((library.num_threads for library in _blas().lib_controllers), default=1)


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController  # kept out of `import attnref`

    return ThreadpoolController().select(user_api="blas")
