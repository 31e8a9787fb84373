// The command-line room: every instance hands out the command line that matches it.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { FastifyPluginAsync } from 'fastify'
import { publicly } from '#access/authorization/enforce.ts'
import { unavailable } from '#platform/http/errors.ts'
import { sendFile, toFile } from '#platform/http/static-files.ts'

/** Where scripts/build-cli.mjs puts it. */
const BUILT = new URL('../../../cli/dist/gantry.mjs', import.meta.url)

/** Serves the command line and the script that installs it; tests pass another file. */
export const commandLineRoutes: FastifyPluginAsync<{ baseUrl: () => string; file?: URL }> = async (
  app,
  { baseUrl, file = BUILT },
) => {
  const config = { access: publicly, notJson: true }
  const schema = { hide: true }
  let built: ReturnType<typeof readBuilt> | undefined

  /** Read when first asked for: most processes never are. */
  async function commandLine() {
    built ??= readBuilt(file, baseUrl())
    const found = await built
    if (found) return found
    // It may be built later.
    built = undefined
    throw unavailable()
  }

  app.get('/cli/install.sh', { config, schema }, (_, reply) =>
    reply
      .header('cache-control', 'no-cache')
      .type('text/x-shellscript; charset=utf-8')
      .send(installScript(baseUrl())),
  )

  app.get('/cli/gantry.mjs', { config, schema }, async (request, reply) => {
    const { program } = await commandLine()
    return sendFile(request, reply, program)
  })

  app.get('/cli/sha256', { config, schema }, async (_, reply) => {
    const { sha256 } = await commandLine()
    return reply
      .header('cache-control', 'no-cache')
      .type('text/plain; charset=utf-8')
      .send(`${sha256}  gantry.mjs\n`)
  })
}

/** What is handed out knows where it comes from: before a login, it suggests that instance. */
async function readBuilt(file: URL, url: string) {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const bytes = Buffer.from(text.replace('\n', () => `\nglobalThis.gantryInstance=${JSON.stringify(url)};\n`))
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { sha256, program: await toFile(bytes, 'text/javascript; charset=utf-8') }
}

const [SHEBANG, ...LINES] = readFileSync(new URL('./install.sh', import.meta.url), 'utf8').split('\n')

/**
 * The script behind `curl -fsSL <instance>/cli/install.sh | sh`. Everything is in one function that is called at the
 * end, so that half a script does nothing. `url` is the configured address of the instance, never the Host of a request;
 * it becomes the argument of the script.
 */
export function installScript(url: string): string {
  return [SHEBANG, `set -- ${quote(url)}`, ...LINES].join('\n')
}

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
