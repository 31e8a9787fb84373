// Interrupts a step on a server at every point, as kill -9 of everything that belongs to it would, so that it can be repeated.
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { demand, run, temporaryFolder, treeOf } from './fixtures.ts'
import type { DeployCommand } from './layout.ts'

type Closer = Parameters<typeof temporaryFolder>[0]

/** Runs a command of a step to its end, and returns its output. */
export type Perform = (command: DeployCommand, input?: Buffer) => Promise<string>

/** What an attempt does for a step, command by command; what it returns is compared. Attempts are numbered from 1. */
export type Step = (base: string, attempt: number, perform: Perform) => Promise<unknown>

/** Where a command is killed: at a point of its script, or in the middle of a program. */
type Kill = { point: string } | { during: keyof typeof HALVES; call: number }

class Killed extends Error {}

/** A point is before a command of the script, in functions and subshells, too; its name counts them in its shell. */
const AT_EACH_POINT = `gantry_point=0
trap 'gantry_at "$BASH_SUBSHELL.$(( ++gantry_point ))"' DEBUG
set -o functrace
`
const STATE = '$(find "$GANTRY_BASE" -printf "%p %y %i %s %T@ %l\\n" 2>/dev/null | cksum)'
const TRACE = `gantry_at() { printf '%s\\n' "$1 ${STATE}" >> "$GANTRY_TRACE"; }\n${AT_EACH_POINT}`
const KILL = `gantry_at() { [[ $1 != "$GANTRY_KILLED_AT" ]] || kill -KILL 0; }\n${AT_EACH_POINT}`

/** Programs that do more than one thing, and what they have done when they are killed in between. */
const HALVES = {
  rm: '[[ -d $last && ! -L $last ]] && find "$last" -mindepth 1 -delete -quit',
  cp: 'if [[ -d $3 ]]; then mkdir -- "$last"; else printf half > "$last"; fi',
  tar: 'head -c 2048 | "$real" "$@"',
}
const IN_HALF = `last=\${!#}
echo . >> "$GANTRY_TRACE"
[[ $(wc -l < "$GANTRY_TRACE") == "$GANTRY_KILLED_AT" ]] || exec "$real" "$@"
`

/**
 * Interrupts the first attempt at `step`, each time in a fresh copy of `template`, and calls `repeat`: at each point before
 * which files have changed, and once for each state that this leaves. The repetition knows nothing else. Returns the number
 * of states.
 */
export async function interruptEverywhere(
  t: Closer,
  template: string,
  step: Step,
  repeat: (base: string, where: string) => Promise<void>,
): Promise<number> {
  const programs = await makePrograms(t)
  const folder = await temporaryFolder(t)
  const states = new Set<string>()

  async function interrupt(command: number, kill: Kill): Promise<boolean> {
    const base = await copyOf(template, folder)
    const trace = join(base, '..', 'calls')
    let count = 0
    const perform: Perform = async (one, input) => {
      if (count++ !== command) return demand(one, input)
      const { code, output } = await run(withKill(one, kill, programs, trace), { input })
      if (code === null) throw new Killed()
      if (code !== 0) throw new Error(`it failed: ${output}`)
      return output
    }
    const isKilled = await step(base, 1, perform).then(
      () => false,
      (error) => {
        if (error instanceof Killed) return true
        throw error
      },
    )
    if (!isKilled) return false
    const state = JSON.stringify(await treeOf(base))
    if (!states.has(state)) await repeat(base, `command ${command + 1}, ${JSON.stringify(kill)}`)
    states.add(state)
    return true
  }

  for (const [command, points] of (await pointsOf(step, await copyOf(template, folder))).entries()) {
    for (const point of points)
      if (!(await interrupt(command, { point })))
        throw new Error(`command ${command + 1} has no point ${point}`)
    for (const during of Object.keys(HALVES) as (keyof typeof HALVES)[])
      for (let call = 1; await interrupt(command, { during, call }); call++);
  }
  return states.size
}

export async function copyOf(template: string, folder: string): Promise<string> {
  const base = join(await mkdtemp(join(folder, 'copy-')), 'base')
  await cp(template, base, { recursive: true, verbatimSymlinks: true })
  return base
}

/** Of each command of the step. */
async function pointsOf(step: Step, base: string): Promise<string[][]> {
  const trace = join(base, '..', 'trace')
  const points: string[][] = []
  await step(base, 1, async ({ command, environment }, input) => {
    const traced = { ...environment, GANTRY_BASE: base, GANTRY_TRACE: trace }
    const output = await demand({ command: `${TRACE}${command}`, environment: traced }, input)
    const lines = (await readFile(trace, 'utf8')).trim().split('\n')
    const found = lines.map((line) => line.split(' '))
    const isNew = (state: string, index: number) => state !== found[index - 1]?.[1]
    points.push(found.filter(([, state], index) => isNew(state!, index)).map(([point]) => point!))
    await rm(trace)
    return output
  })
  return points
}

function withKill({ command, environment }: DeployCommand, kill: Kill, programs: string, trace: string) {
  if ('point' in kill)
    return { command: `${KILL}${command}`, environment: { ...environment, GANTRY_KILLED_AT: kill.point } }
  const path = `${join(programs, kill.during)}:${process.env.PATH}`
  const values = { PATH: path, GANTRY_TRACE: trace, GANTRY_KILLED_AT: String(kill.call) }
  return { command, environment: { ...environment, ...values } }
}

/** Each in a folder of its own, so that the others are the real ones. */
async function makePrograms(t: Closer): Promise<string> {
  const folder = await temporaryFolder(t)
  for (const [name, half] of Object.entries(HALVES)) {
    const path = join(folder, name, name)
    await mkdir(join(folder, name))
    await writeFile(path, `#!/bin/bash\nreal=/usr/bin/${name}\n${IN_HALF}${half}\nkill -KILL 0\n`)
    await chmod(path, 0o755)
  }
  return folder
}
