// A worker that is to be killed, and what brings runs to the points at which that happens.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import type { Gate } from '#test/support/gate.ts'
import { deployWith, type StepInput } from '#test/support/inventory.ts'
import { later } from '#test/support/later.ts'
import { temporaryHome } from '#test/support/process.ts'
import { processesAt } from '#test/support/processes-at.ts'
import { makeRepository } from '#test/support/repository.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { until } from '#test/support/until.ts'

export const MAX_MS = 60_000
export const REASSIGNED = /A new attempt starts here\.\n/
export const REPEATABLE = { idempotent: true }

/** A run on its way to its point. */
export type Parked = {
  /** When all the others are parked: to where it does not stay for long. */
  approach?(): Promise<void>
  /** At the very last moment before the kill. */
  last?(): Promise<void>
  /** When the worker is dead: nothing holds the run up any more. */
  release?(): Promise<void>
  /** What must have come of it. */
  check(): Promise<void>
}

export type Points = Record<string, () => Promise<Parked>>

export type KillStage = Awaited<ReturnType<typeof openKillStage>>

export async function openKillStage(t: Parameters<typeof later>[0]) {
  const world = await openRunWorld(t, {
    roles: ['api'],
    environment: { GANTRY_HEARTBEAT_SECONDS: '10', GANTRY_POLL_MS: '1000' },
  })
  const { show, notes } = world
  const slowGit = await installSlowGit(await temporaryHome(t))
  const startWorker = () => world.start('worker', { PATH: slowGit.path })

  /** A step that may not be repeated, and how often it ran all the same. */
  function countRuns(name: string) {
    const path = join(notes, `${name}.ran`)
    return {
      step: { name: 'once', command: `echo ran >> '${path}'` },
      times: async () => (await readFile(path, 'utf8').catch(() => '')).split('\n').length - 1,
    }
  }

  /** An application of its own; its file `name` holds its name. */
  async function makeShop(
    name: string,
    behind: Record<string, StepInput | StepInput[]> = {},
    {
      files = {},
      ...input
    }: Partial<Parameters<typeof world.makeDeployable>[0]> & { files?: Record<string, string> } = {},
  ) {
    const repository = await makeRepository(t, { files: { name, ...files } })
    const shop = await world.makeDeployable({
      repository: repository.address,
      steps: deployWith(behind),
      ...input,
    })
    return { ...shop, base: shop.bases[0]!, commit: await repository.git(['rev-parse', 'main']) }
  }

  /** Processes of this test. */
  const ours = new Set<number>()
  const isNotOurs = (line: string) => !ours.has(Number.parseInt(line, 10))

  /** Takes a lock as another deploy would. */
  function createHolder(lock: string) {
    let free = async () => {}
    return {
      async hold() {
        const args = ['--no-fork', lock, 'sh', '-c', 'echo; exec cat']
        const holder = spawn('flock', args, { stdio: ['pipe', 'pipe', 'inherit'] })
        const gone = once(holder, 'close')
        ours.add(holder.pid!)
        later(t, () => holder.kill('SIGKILL'))
        free = async () => {
          holder.stdin.end()
          await gone
          ours.delete(holder.pid!)
        }
        await once(holder.stdout, 'data')
      },
      release: () => free(),
    }
  }

  /** Without the limits that Gantry's own connections have. */
  async function openClient(): Promise<pg.Client> {
    const client = new pg.Client(world.settings)
    await client.connect()
    later(t, () => client.end())
    return client
  }

  async function waitsForLock(actionId: number, stepName: string, lock: string): Promise<void> {
    await until(`${stepName} waits for the lock`, MAX_MS, async () => {
      const { current_step } = (await show(actionId)).targets[0]
      return current_step?.name === stepName && processesAt([lock]).filter(isNotOurs).length > 0
    })
  }

  return {
    ...world,
    slowGit,
    startWorker,
    worker: await startWorker(),
    ours,
    countRuns,
    makeShop,
    createHolder,
    openClient,
    waitsForLock,
  }
}

export function waitAt(gate: Gate, more: object = {}) {
  return { name: 'wait', command: gate.command, ...more }
}

export const lockOf = (base: string) => join(base, '.gantry/lock')

/** A git whose archive of certain commits stops after its first part, for as long as its parent lives. */
async function installSlowGit(folder: string) {
  const held = (commit: string) => join(folder, `${commit}.held`)
  const script = `#!/bin/bash
PATH=\${PATH#*:}
hold=${folder}/\${!#}.held
if [[ $1 != archive || ! -e $hold ]]; then exec git "$@"; fi
git "$@" | { head -c 100000; while [[ -e $hold ]] && kill -0 $PPID 2>/dev/null; do sleep 0.05; done; cat; }
`
  await writeFile(join(folder, 'git'), script, { mode: 0o755 })
  return {
    path: `${folder}:${process.env.PATH}`,
    hold: (commit: string) => writeFile(held(commit), ''),
    letGo: (commit: string) => rm(held(commit)),
  }
}
