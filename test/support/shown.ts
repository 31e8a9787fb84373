// What a program shows, compared with text in which `…` stands for what differs from run to run.
import assert from 'node:assert/strict'

/** `…` stands for anything on its line, also for nothing; a line `⋮` for any lines. */
export function shownAs(expected: string): RegExp {
  const parts = expected
    .trim()
    .split('…')
    .map((part) => part.split('⋮\n').map(RegExp.escape).join('(?:.*\\n)*?'))
  return new RegExp(`^${parts.join('[^\\n]*')}$`)
}

/** Both without spaces and empty lines around them. */
export function assertShown(actual: string, expected: string, message = 'it shows'): void {
  const isAsExpected = shownAs(expected).test(actual.trim())
  if (!isAsExpected) assert.fail(`${message}:\n${actual.trim()}\n--- instead of:\n${expected.trim()}`)
}
