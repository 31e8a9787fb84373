// Runs that wait for people: which ones, what they ship, and the decision.
import { type components, type Gantry, GantryError, whatChanged } from '@gantry/client'
import { type ActionListItem, pathOf, sourceOf, stateOf } from '../actions.ts'
import { confirm } from '../ask.ts'
import type { Cli } from '../cli.ts'
import { examples, type Register, run } from '../command.ts'
import { Failure, usage } from '../ending.ts'
import { EXIT } from '../exit-codes.ts'
import { printChanges } from '../runs/changes.ts'
import { ACTION, findActionId, readAction } from '../runs/find.ts'
import { plain, type Screen } from '../screen.ts'
import { type Column, oneLine, printTable } from '../table.ts'
import { ago } from '../times.ts'

type ActionGates = components['schemas']['ActionGates']
type Covered = {
  servers: { name: string; host: string | null; port: number | null }[]
  steps: { name: string; command: string | null }[]
  application: { install_dependencies_command: string | null; build_command: string | null } | null
  variables: string[]
  rollout: object | null
}
type Approval = {
  subject: string | null
  covers: Covered | null
  live: object | null
  required: number
  is_preparing: boolean
  why_not: string | null
  decisions: {
    user: { name: string }
    decision: string
    comment: string | null
    lapsed_at: string | null
    counts: boolean
  }[]
}
type Options = { comment?: string; yes?: true; json?: true }
type Verb = 'approve' | 'reject'

const DONE: Record<Verb, string> = { approve: 'approved', reject: 'rejected' }
const EXAMPLES: Record<Verb, string> = { approve: 'Checked on staging', reject: 'After the sale' }

export const waiting: Register = (program) => {
  const command = program
    .command('waiting')
    .description('list the runs that wait for your approval')
    .option('--json', 'print JSON')
    .action(
      run(async ({ connect, screen }, { json }: { json?: true }) => {
        const { gantry } = await connect()
        const query = { 'filter[approvable]': 'true' as const, per_page: 100 }
        const found = await gantry.get('/actions', { params: { query } })
        if (json) return screen.json(found)
        printTable(screen, found, columns(screen), 'No run waits for you.')
      }),
    )
  examples(command, ['gantry waiting', 'what you could approve'], ['gantry approve 42', 'one of them'])
}

const columns = ({ isTerminal }: Screen): Column<ActionListItem>[] => [
  { title: 'run', text: ({ id }) => `#${id}` },
  { title: 'what', text: pathOf },
  { title: 'source', text: sourceOf },
  { title: 'by', text: ({ triggered_from }) => triggered_from.name ?? triggered_from.trigger_type },
  { title: 'created', text: ({ created_at }) => (isTerminal ? ago(created_at) : created_at) },
]

const decision =
  (verb: Verb, description: string): Register =>
  (program) => {
    const command = program
      .command(verb)
      .description(description)
      .argument('<action>', ACTION)
      .option('--comment <text>', 'why, for others and the audit log')
      .option('-y, --yes', 'do not ask; required without a terminal')
      .option('--json', 'print the gates of the run as JSON')
      .action(run((cli, given: string, options: Options) => decide(cli, verb, given, options)))
    examples(
      command,
      [`gantry ${verb} 42`, 'shows what ships, and asks'],
      [`gantry ${verb} web --yes --comment "${EXAMPLES[verb]}"`, 'without a question'],
    )
  }

export const approve = decision('approve', 'approve what a run ships, so that it can start; asks first')
export const reject = decision('reject', 'reject what a run ships, which ends it; asks first')

async function decide(cli: Cli, verb: Verb, given: string, options: Options): Promise<void> {
  const { screen } = cli
  if (!screen.isInteractive && !options.yes)
    throw usage(`Without a terminal, \`gantry ${verb}\` does not ask.`, 'Add --yes to decide anyway.')
  const { gantry } = await cli.connect()
  const id = await findActionId(gantry, given)
  const gates = await decideSeen(cli, gantry, { verb, id, options })
  if (options.json) return screen.json(gates)
  const after = approvalOf(gates)
  const missing = after.required - countApprovals(after)
  const left = verb === 'approve' && missing > 0 ? ` It needs ${people(missing)} more.` : ''
  screen.print(`#${id} is ${DONE[verb]}.${left} ${stateOf(await readAction(gantry, id))}`)
}

type Decision = { verb: Verb; id: number; options: Options; before?: Approval }

/** What was shown is what is decided: if it has changed since, people look again. */
async function decideSeen(cli: Cli, gantry: Gantry, decision: Decision): Promise<ActionGates> {
  const { screen } = cli
  const { verb, id, options, before } = decision
  const approval = await readSubject(cli, gantry, id)
  if (before)
    (options.json ? screen.note : screen.print)(
      `\nSince you looked, ${whatChanged(before, approval)} changed. This ships now:`,
    )
  if (!options.json) await show(screen, gantry, id, approval)
  const reason = NOT_YOU[approval.why_not ?? '']
  if (reason) throw new Failure(reason, { exit: EXIT.notAllowed })
  const question = `${verb === 'approve' ? 'Approve' : 'Reject'} #${id}?`
  if (!options.yes && !(await confirm(question)))
    throw new Failure('Nothing was changed.', { exit: EXIT.ended })
  const body = { subject: approval.subject!, ...(options.comment && { comment: options.comment }) }
  const params = { path: { id } }
  try {
    return await (verb === 'approve'
      ? gantry.post('/actions/{id}/approve', { params, body })
      : gantry.post('/actions/{id}/reject', { params, body }))
  } catch (error) {
    if (!(error instanceof GantryError && error.code === 'approval_outdated')) throw error
    if (!options.yes) return decideSeen(cli, gantry, { ...decision, before: approval })
    throw new Failure(`What #${id} ships has changed since this command read it. Nothing was decided.`, {
      exit: EXIT.refused,
      hint: `Look at what ships now with \`gantry ${verb} ${id}\`.`,
    })
  }
}

/** Nothing that a role or a token could change. */
const NOT_YOU: Record<string, string> = {
  starter:
    'You started this run, or one that it repeats or follows, or you wrote a commit that it ships: another person has to decide.',
  not_listed: 'The environment lists other people or roles as approvers.',
}

const people = (count: number) => `${count} ${count === 1 ? 'person' : 'people'}`

const approvalOf = ({ gates }: ActionGates) =>
  gates.find(({ gate }) => gate === 'approval')?.details as Approval

const countApprovals = ({ decisions }: Approval) => decisions.filter(({ counts }) => counts).length

const PREPARED_WITHIN_MS = 60_000
const POLL_MS = 500

/** Right after its start, a worker finds out what a run ships. */
async function readSubject(cli: Cli, gantry: Gantry, id: number): Promise<Approval> {
  const deadline = Date.now() + PREPARED_WITHIN_MS
  let isNoted = false
  for (;;) {
    const gates = await gantry.get('/actions/{id}/gates', { params: { path: { id } } })
    const approval = gates.gates.some(({ gate }) => gate === 'approval') ? approvalOf(gates) : null
    if (approval?.subject) return approval
    if (!approval?.is_preparing || Date.now() > deadline)
      throw new Failure(`#${id} does not wait for approval.`, {
        exit: EXIT.refused,
        hint: '`gantry waiting` lists the runs that wait for you.',
      })
    if (!isNoted) cli.screen.note('Gantry is finding out what ships…')
    isNoted = true
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    if (cli.signal.aborted) throw new Failure('Nothing was changed.', { exit: EXIT.interrupted })
  }
}

async function show(screen: Screen, gantry: Gantry, id: number, approval: Approval): Promise<void> {
  const action = await readAction(gantry, id)
  screen.print(screen.style('bold', `#${id} ${pathOf(action)} ${sourceOf(action)}`.trim()))
  const by = action.triggered_from.name ?? action.triggered_from.trigger_type
  screen.print(plain(`Started by ${by}. Needs ${people(approval.required)} to approve it.`))
  for (const { user, decision: made, comment, lapsed_at, counts } of approval.decisions) {
    const reason = lapsed_at
      ? ', which lapsed: something changed'
      : counts
        ? ''
        : ', who may no longer approve it'
    screen.print(plain(`${user.name} ${made}${reason}${comment ? `: ${comment}` : ''}`))
  }
  if (approval.covers) showCovered(screen, approval.covers)
  if (action.type !== 'deploy') return
  screen.print()
  const params = { path: { action_id: id } }
  printChanges(screen, await gantry.get('/actions/{action_id}/changes', { params }))
  screen.print()
}

/** What runs, and where. */
function showCovered(screen: Screen, { servers, steps, application, variables }: Covered): void {
  const places = servers.map(({ name, host, port }) => (host === null ? name : `${name} (${host}:${port})`))
  screen.print(plain(`Runs on ${places.join(', ')}:`))
  const own: Record<string, string | null | undefined> = {
    'install-dependencies': application?.install_dependencies_command,
    'build-application': application?.build_command,
  }
  for (const { name, command } of steps) {
    const text = command ?? own[name]
    screen.print(plain(`  ${name}${text ? `: ${oneLine(text)}` : ''}`))
  }
  if (variables.length > 0) screen.print(plain(`with the variables ${variables.join(', ')}`))
}
