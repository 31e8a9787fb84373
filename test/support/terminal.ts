// A real pseudo-terminal, and the screen that a person would see on it. `script` opens the pseudo-terminal, the
// emulator of xterm.js keeps the screen.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import xterm from '@xterm/headless'
import { later } from './later.ts'
import { until } from './until.ts'

const KEYS = {
  enter: '\r',
  escape: '\u001b',
  tab: '\t',
  space: ' ',
  backspace: '\u007f',
  up: '\u001b[A',
  down: '\u001b[B',
  right: '\u001b[C',
  left: '\u001b[D',
  'ctrl-c': '\u0003',
  'ctrl-d': '\u0004',
} as const

export type Terminal = Awaited<ReturnType<typeof openTerminal>>

type Options = {
  env?: Record<string, string>
  cwd?: string
  columns?: number
  rows?: number
}

/** Runs a program on a terminal of its own. Colors are off unless `env` has another TERM or FORCE_COLOR. */
export async function openTerminal(
  t: { after(fn: () => Promise<void>): void },
  command: readonly string[],
  { env = {}, cwd, columns = 80, rows = 24 }: Options = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-terminal-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  const device = join(folder, 'device')
  const screen = new xterm.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true })
  // The program starts only when the terminal has its size, and the device is known for resizing.
  const line = `stty cols ${columns} rows ${rows} && tty > ${quoted(device)} && exec ${command.map(quoted).join(' ')}`
  const child = spawn('/usr/bin/script', ['-qefc', line, '-E', 'always', '/dev/null'], {
    cwd,
    env: { TERM: 'xterm-256color', PATH: process.env.PATH ?? '', ...env, SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.on('error', () => {})
  let isDrawn = Promise.resolve()
  child.stdout.on('data', (bytes: Buffer) => {
    isDrawn = new Promise((resolve) => screen.write(bytes, resolve))
  })
  // The emulator answers questions such as where the cursor is.
  screen.onData((answer) => child.stdin.write(answer))
  const { promise: ended, resolve } = Promise.withResolvers<number | null>()
  child.on('close', (code) => void isDrawn.then(() => resolve(code)))
  later(t, async () => {
    // The program sees its terminal go away.
    if (child.exitCode === null) child.kill('SIGKILL')
    await ended
    screen.dispose()
  })

  /** Lines as they are shown, without spaces and empty lines at the end. */
  const linesFrom = (first: number) => {
    const { active } = screen.buffer
    const lines = Array.from({ length: active.length - first }, (_, n) =>
      active.getLine(first + n)!.translateToString(true),
    )
    return lines.join('\n').trimEnd()
  }
  /** What is on the screen now. */
  const shown = () => linesFrom(screen.buffer.active.baseY)
  /** Everything so far, with what has scrolled away. */
  const history = () => linesFrom(0)

  return {
    shown,
    history,
    /** The exit code of the program. */
    ended,
    columns: () => screen.cols,
    type: (text: string) => void child.stdin.write(text),
    press(...keys: (keyof typeof KEYS)[]) {
      for (const key of keys) child.stdin.write(KEYS[key])
    },
    /** Until this is on the screen, or has scrolled away; fails with what it shows instead. */
    async sees(expected: RegExp | string, withinMs = 30_000): Promise<string> {
      const holds = (text: string) =>
        typeof expected === 'string' ? text.includes(expected) : expected.test(text)
      await until(`the terminal shows ${expected}`, withinMs, () => holds(history())).catch(
        (error: Error) => {
          throw new Error(`${error.message}\n--- shown:\n${shown()}\n---`)
        },
      )
      return shown()
    },
    /** As if somebody drags the corner of the window. A frame for the old width may be on its way. */
    async resize(newColumns: number, newRows: number): Promise<void> {
      const path = await until('the terminal has a device', 30_000, async () =>
        (await readFile(device, 'utf8').catch(() => '')).trim(),
      )
      screen.resize(newColumns, newRows)
      const { status, stderr } = spawnSync(
        'stty',
        ['-F', path, 'cols', String(newColumns), 'rows', String(newRows)],
        { encoding: 'utf8' },
      )
      if (status !== 0) throw new Error(stderr)
    },
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
