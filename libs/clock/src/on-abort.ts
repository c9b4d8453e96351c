interface Task {
  run: () => void;
  /** Where it is among the others. */
  place: number;
}

/**
 * What is to be done when a signal aborts, behind one listener for each signal.
 *
 * The signal's own list, where many come and go, has each walk past all others. And neither that list
 * nor a Set forgets: what has left still refers to what came after it (a Set's table to the one that
 * followed), so that a little garbage that has become old keeps all that of newer calls from being
 * collected before the next full collection.
 */
const tasksOf = new WeakMap<AbortSignal, Task[]>();

/**
 * Calls `run`, which must not throw, once `signal` aborts, unless the returned function is called
 * before; of several in any order. Does nothing for a signal that has aborted.
 */
export function onAbort(signal: AbortSignal, run: () => void): () => void {
  if (signal.aborted) return () => undefined;
  const tasks = tasksOf.get(signal) ?? listenTo(signal);
  const task = { run, place: tasks.length };
  tasks.push(task);
  return () => {
    remove(tasks, task);
  };
}

function listenTo(signal: AbortSignal): Task[] {
  const tasks: Task[] = [];
  tasksOf.set(signal, tasks);
  const runAll = (): void => {
    // one may take back another, which is not to be called then
    for (const task of [...tasks]) if (isAmong(tasks, task)) task.run();
    tasks.length = 0;
  };
  signal.addEventListener('abort', runAll, { once: true });
  return tasks;
}

function remove(tasks: Task[], task: Task): void {
  if (!isAmong(tasks, task)) return;
  const last = tasks.pop();
  if (last === undefined || last === task) return;
  tasks[task.place] = last;
  last.place = task.place;
}

function isAmong(tasks: readonly Task[], task: Task): boolean {
  return tasks[task.place] === task;
}
