// The values of a document's placeholders: from --env-file, then from the environment, then from a prompt.
import { askSecret } from '../ask.ts'
import type { Cli } from '../cli.ts'
import { readEnvFile } from '../env-file.ts'
import { usage } from '../failure.ts'
import { findPlaceholders } from './placeholders.ts'

/** Only what the document uses: nothing else of the environment leaves this machine. */
export async function collectValues(
  { env, screen }: Pick<Cli, 'env' | 'screen'>,
  document: { text: string; file: string },
  envFile: string | undefined,
): Promise<Record<string, string>> {
  const given = envFile === undefined ? new Map<string, string>() : await readEnvFile(envFile)
  const wanted = findPlaceholders(document.text)
  const values = new Map<string, string>()
  for (const { name } of wanted) {
    const value = given.get(name) ?? env[name]
    if (value !== undefined) values.set(name, value)
  }
  const missing = wanted.filter(({ name }) => !values.has(name))
  if (missing.length > 0 && !screen.isInteractive)
    throw usage(
      [
        'These values are missing:',
        ...missing.map(({ name, line, column }) => `  ${name}  (${document.file}:${line}:${column})`),
      ].join('\n'),
      'Set them in the environment, or pass a file of NAME=value lines with --env-file.',
    )
  for (const { name } of missing) values.set(name, await askSecret(`${name} (used in ${document.file})`))
  return Object.fromEntries(values)
}
