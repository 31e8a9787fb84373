import { type Register, run } from '../command.ts'
import { usage } from '../failure.ts'
import { printTable } from '../table.ts'
import { ago } from '../times.ts'

export const workers: Register = (program) => {
  const group = program.command('workers').description('the processes that run pipelines (administrators)')
  group
    .command('ls', { isDefault: true })
    .description('list the workers')
    .option('--json', 'print JSON')
    .action(
      run(async ({ connect, screen }, { json }: { json?: true }) => {
        const { gantry } = await connect()
        const rows = await gantry.get('/workers')
        if (json) return screen.json(rows)
        const time = (text: string) => (screen.isTerminal ? ago(text) : text)
        printTable(
          screen,
          rows,
          [
            { title: 'worker', text: ({ name }) => name ?? 'embedded' },
            { title: 'id', text: ({ id }) => id },
            { title: 'state', text: (one) => stateOf(one) },
            {
              title: 'targets',
              text: ({ running_targets, capacity }) => `${running_targets}/${capacity ?? '?'}`,
            },
            { title: 'version', text: ({ version }) => version ?? '' },
            { title: 'started', text: ({ started_at }) => time(started_at) },
            { title: 'last seen', text: ({ last_seen_at }) => time(last_seen_at) },
          ],
          'No workers.',
        )
      }),
    )
  group
    .command('drain')
    .description(
      'let a worker end its steps and take no new targets; then it can be stopped without losing a run',
    )
    .argument('<worker>', 'its name if only one process has it, or its id')
    .option('--undo', 'let it take targets again')
    .action(
      run(async ({ connect, screen }, given: string, { undo }: { undo?: true }) => {
        const { gantry } = await connect()
        const online = (await gantry.get('/workers')).filter((one) => one.online)
        const found = online.filter(({ id, name }) => id === given || name === given)
        if (found.length !== 1)
          throw usage(
            found.length === 0
              ? `No worker "${given}" is online.`
              : `${found.length} workers are named "${given}": give the id of one.`,
            `Workers: ${(found.length > 0 ? found : online).map(({ id, name }) => `${name ?? 'embedded'} (${id})`).join(', ') || 'none'}`,
          )
        const path = { params: { path: { id: found[0]!.id } } }
        if (undo) {
          await gantry.delete('/workers/{id}/drain', path)
          return screen.note(`${given} takes targets again.`)
        }
        const { running_targets } = await gantry.post('/workers/{id}/drain', path)
        screen.note(
          `${given} drains. It runs ${running_targets === 1 ? '1 target' : `${running_targets} targets`}; see \`gantry workers\`.`,
        )
      }),
    )
}

function stateOf({ online, draining }: { online: boolean; draining: boolean }): string {
  if (!online) return 'offline'
  return draining ? 'draining' : 'online'
}
