import { type Register, run } from '../command.ts'
import { type Check, examine } from '../doctor.ts'
import { EXIT } from '../exit-codes.ts'
import { plain, type Style, wrap } from '../screen.ts'
import { VERSION } from '../version.ts'

const MARKS: Record<Check['status'], [mark: string, style: Style]> = {
  ok: ['✓', 'green'],
  warning: ['!', 'yellow'],
  failed: ['✗', 'red'],
}

export const doctor: Register = (program) => {
  program
    .command('doctor')
    .description('check the connection, the token and the instance, and say what to do')
    .option('--json', 'print JSON')
    .action(
      run(async (cli, { json }: { json?: true }) => {
        const { gantry, url } = await cli.connect()
        const checks: Check[] = []
        for await (const check of examine(gantry, { url, version: VERSION })) {
          checks.push(check)
          if (check.status === 'failed')
            cli.exitCode = check.name === 'connection' ? EXIT.unreachable : EXIT.failed
          if (json) continue
          const [mark, style] = MARKS[check.status]
          const { screen } = cli
          const line = `${screen.style(style, mark)} ${screen.style('bold', check.name)}: ${plain(check.message)}`
          screen.print(wrap(line, screen.columns))
          if (check.remedy) screen.print(wrap(`  ${plain(check.remedy)}`, screen.columns))
        }
        if (json) cli.screen.json(checks)
      }),
    )
}
