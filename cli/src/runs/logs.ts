// Logs of steps: what has been printed so far, or as it is printed.
import { describeGap, type Gantry } from '@gantry/client'
import { slugifyAnyScript as slug } from '@gantry/client/slug'
import { type Action, isOver } from '../actions.ts'
import type { Cli } from '../cli.ts'
import { Failure, Interrupted } from '../ending.ts'
import { EXIT } from '../exit-codes.ts'
import { oneLine } from '../table.ts'
import { logLine } from './log-text.ts'

export type LogOptions = { follow?: true; step?: string; server?: string; failed?: true }
type Target = Action['targets'][number]
type Step = Target['steps'][number]
type Chosen = { target: Target; step: Step }

export async function printLogs(
  cli: Cli,
  gantry: Gantry,
  action: Action,
  options: LogOptions,
): Promise<void> {
  const chosen = choose(action, options)
  const printer = createPrinter(cli, chosen)
  if (options.follow && !isOver(action)) {
    await follow(cli, gantry, action, chosen, printer)
    return
  }
  for (const { target, step } of chosen.filter((one) => one.step.started_at !== null)) {
    const { text } = await gantry.readLog({ actionId: action.id, targetId: target.id, order: step.order })
    printer.print(target.id, step.order, text)
    printer.flush()
  }
}

export function choose({ id, targets }: Action, { step, server, failed }: LogOptions): Chosen[] {
  const isNamed = (name: string, wanted: string | undefined) =>
    wanted === undefined || slug(name) === slug(wanted)
  const onServers = targets.filter(({ resource_data }) => isNamed(resource_data.name, server))
  if (onServers.length === 0)
    throw unknown(
      'server',
      server!,
      targets.map((one) => one.resource_data.name),
    )
  const all = onServers.flatMap((target) => target.steps.map((one) => ({ target, step: one })))
  const named = all.filter((one) => isNamed(one.step.name, step))
  if (named.length === 0 && step !== undefined)
    throw unknown(
      'step',
      step,
      all.map((one) => one.step.name),
    )
  const chosen = named.filter((one) => !failed || one.step.status === 'failed')
  if (chosen.length === 0)
    throw new Failure(`No step of #${id} has failed.`, {
      exit: EXIT.refused,
      hint: `Everything it has printed: \`gantry logs ${id}\`.`,
    })
  return chosen
}

const unknown = (kind: string, given: string, known: string[]) =>
  new Failure(`The run has no ${kind} "${given}".`, {
    exit: EXIT.refused,
    hint: `It has: ${[...new Set(known)].map(oneLine).join(', ')}.`,
  })

async function follow(
  { signal, screen }: Cli,
  gantry: Gantry,
  { id }: Action,
  chosen: Chosen[],
  printer: ReturnType<typeof createPrinter>,
): Promise<void> {
  const isChosen = (targetId: number, order: number) =>
    chosen.some(({ target, step }) => target.id === targetId && step.order === order)
  const onReconnect = () => screen.note('Connection lost, reconnecting…')
  try {
    for await (const { type, data } of gantry.followAction(id, { signal, onReconnect }))
      if (type === 'log' && isChosen(data.target_id, data.step_order))
        printer.print(data.target_id, data.step_order, withGap(data))
  } catch (error) {
    throw signal.aborted ? new Interrupted() : error
  } finally {
    printer.flush()
  }
}

/** Where a long log has only its beginning and its end, a line says so. */
function withGap({ text, omitted_bytes }: { text: string; omitted_bytes: number }): string {
  return omitted_bytes > 0 ? `\n${describeGap(omitted_bytes)}\n${text}` : text
}

/** Whole lines. With several servers each line begins with the server's, with several steps each step has a heading. */
function createPrinter({ screen }: Cli, chosen: Chosen[]) {
  const servers = new Map(chosen.map(({ target }) => [target.id, oneLine(target.resource_data.name)]))
  const steps = new Map(chosen.map(({ target, step }) => [`${target.id} ${step.order}`, oneLine(step.name)]))
  const hasHeadings = new Set(steps.values()).size > 1
  const open = new Map<string, string>()
  const headed = new Map<number, string>()
  const width = Math.max(...[...servers.values()].map((name) => name.length))

  function line(targetId: number, key: string, text: string): void {
    const prefix = servers.size > 1 ? screen.style('dim', `${servers.get(targetId)!.padEnd(width)} | `) : ''
    if (hasHeadings && headed.get(targetId) !== key) {
      headed.set(targetId, key)
      screen.print(`${prefix}${screen.style('bold', `== ${steps.get(key)}`)}`)
    }
    screen.print(`${prefix}${logLine(text, screen.hasColor)}`)
  }

  return {
    print(targetId: number, order: number, text: string): void {
      const key = `${targetId} ${order}`
      const lines = ((open.get(key) ?? '') + text).split('\n')
      open.set(key, lines.pop()!)
      for (const one of lines) line(targetId, key, one)
    },
    /** The last lines, if no line break follows them. */
    flush(): void {
      for (const [key, text] of open) if (text !== '') line(Number.parseInt(key, 10), key, text)
      open.clear()
    },
  }
}
