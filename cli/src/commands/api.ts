import { every, examples, type Register, run } from '../command.ts'
import { exitCodeOf, usage } from '../failure.ts'
import { readFileOrInput } from '../stdin.ts'

type Options = { field: string[]; header: string[]; input?: string; paginate?: true }

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']

export const api: Register = (program) => {
  const command = program
    .command('api')
    .description('call any route of the API; /docs on your instance describes them')
    .argument('<method>', METHODS.join(', '))
    .argument('<path>', 'for example /actions')
    .option(
      '-f, --field <name=value>',
      'a field of the body, or of the query for GET; JSON values are taken as such',
      every,
      [],
    )
    .option('-H, --header <name: value>', 'a header', every, [])
    .option('--input <file>', 'send this file as the body; - is stdin')
    .option('--paginate', 'all pages of a list, as one array')
    .action(
      run(async (cli, givenMethod: string, path: string, { field, header, input, paginate }: Options) => {
        const method = givenMethod.toUpperCase()
        if (!METHODS.includes(method))
          throw usage(`"${givenMethod}" is not a method.`, `Methods: ${METHODS.join(', ')}.`)
        const { request, url: instance } = await cli.connect()
        const fields = field.map(parseField)
        const isQuery = method === 'GET' || method === 'HEAD' || method === 'DELETE'
        if (input !== undefined && (method === 'GET' || method === 'HEAD'))
          throw usage(`${method} takes no body.`, 'Use -f for the query.')
        const body = input === undefined ? bodyOf(isQuery ? [] : fields) : await readFileOrInput(input)
        const url = addQuery(path, isQuery || input !== undefined ? fields : [])
        const headers = Object.fromEntries(header.map(parseHeader))
        const send = (at: string) => request(method, at, { headers, body, signal: cli.signal })
        const response = await send(url)
        if (response.status >= 400) cli.exitCode = exitCodeOf({ status: response.status, code: '' })
        if (!paginate || !response.ok) return copy(response)
        const items: unknown[] = []
        for (let page = response; ; ) {
          const data = await page.json()
          if (!Array.isArray(data)) throw usage('--paginate is for routes that return a list.')
          items.push(...data)
          const next = /<([^>]+)>;\s*rel="next"/.exec(page.headers.get('link') ?? '')?.[1]
          if (!next) return cli.screen.json(items)
          page = await send(pathOfNext(next, instance))
          if (!page.ok) {
            cli.exitCode = exitCodeOf({ status: page.status, code: '' })
            return copy(page)
          }
        }
      }),
    )
  examples(
    command,
    ['gantry api GET /actions -f "filter[status]=failed"', 'with a filter'],
    ['gantry api POST /pipelines/3/actions -f trigger_comment="from a script"', 'with a body'],
    ['gantry api GET /organizations/1/audit --paginate', 'everything'],
  )
}

/** A proxy may serve the instance below a path, which is part of its address already. */
function pathOfNext(link: string, instance: string): string {
  const { pathname, search } = new URL(link, `${instance}/`)
  const below = new URL(instance).pathname.replace(/\/$/, '')
  return (below !== '' && pathname.startsWith(`${below}/`) ? pathname.slice(below.length) : pathname) + search
}

async function copy(response: Response): Promise<void> {
  if (!response.body) return
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) process.stdout.write(chunk)
  if (process.stdout.isTTY) process.stdout.write('\n')
}

function parseField(given: string): [string, unknown] {
  const at = given.indexOf('=')
  if (at < 1) throw usage(`-f takes name=value, not "${given}".`)
  const text = given.slice(at + 1)
  return [given.slice(0, at), parseValue(text)]
}

/** Numbers, booleans, null, arrays and objects; everything else is text. */
function parseValue(text: string): unknown {
  if (!/^(-?\d|true$|false$|null$|[[{"])/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function parseHeader(given: string): [string, string] {
  const at = given.indexOf(':')
  if (at < 1) throw usage(`-H takes "name: value", not "${given}".`)
  const [name, value] = [given.slice(0, at), given.slice(at + 1).trim()]
  try {
    new Headers([[name, value]])
  } catch {
    // Without the value: it may be a secret.
    throw usage(`"${name}" is not a header, or has a value that no header can have.`)
  }
  return [name, value]
}

const bodyOf = (fields: [string, unknown][]) =>
  fields.length === 0 ? undefined : JSON.stringify(Object.fromEntries(fields))

/** Only paths: the token goes to the instance and nowhere else. */
function addQuery(path: string, fields: [string, unknown][]): string {
  if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(path))
    throw usage(`"${path}" is an address.`, 'Give the path only, for example /actions.')
  const query = new URLSearchParams(
    fields.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
  const whole = path.startsWith('/') ? path : `/${path}`
  return fields.length === 0 ? whole : `${whole}${whole.includes('?') ? '&' : '?'}${query}`
}
