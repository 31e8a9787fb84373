// What a process that runs several test files keeps between them, and ends after the last one.

let ends: (() => Promise<unknown>)[] | undefined

export function beginBatch(): void {
  ends = []
}

/** Whether this process runs several files, and so will call `end`. */
export const isBatch = (): boolean => ends !== undefined

export function afterBatch(end: () => Promise<unknown>): void {
  ends?.push(end)
}

export async function endBatch(): Promise<void> {
  for (const end of ends?.splice(0) ?? []) await end()
}
