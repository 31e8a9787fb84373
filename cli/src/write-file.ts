import { access, writeFile } from 'node:fs/promises'
import { confirm } from './ask.ts'
import type { Cli } from './cli.ts'
import { EXIT } from './exit-codes.ts'
import { Failure, usage } from './failure.ts'

/** Ends the command unless the file may be written: an existing one only with --force, or when somebody agrees. */
export async function allowOverwrite({ screen }: Pick<Cli, 'screen'>, file: string, isForced: boolean) {
  const exists = await access(file).then(
    () => true,
    () => false,
  )
  if (!exists || isForced) return
  if (!screen.isInteractive)
    throw usage(`${file} exists.`, 'Use --force to overwrite it, or give another name.')
  if (await confirm(`${file} exists. Overwrite it?`)) return
  throw new Failure(`${file} is unchanged.`, { exit: EXIT.ended })
}

export async function writeText(file: string, text: string): Promise<void> {
  await writeFile(file, text).catch((error: NodeJS.ErrnoException) => {
    throw usage(`Failed to write ${file}: ${error.code}.`)
  })
}
