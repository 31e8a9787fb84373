// The jobs of docs/ci.md, run as the CI services run them: their lines in a shell, in a fresh home, with their variables.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { openShell, USERS_NODE } from '#test/support/cli.ts'
import { later } from '#test/support/later.ts'
import { ADMIN_ENVIRONMENT, logInAsAdmin, startGantry, temporaryHome } from '#test/support/process.ts'
import { makeRepository } from '#test/support/repository.ts'

const guide = await readFile(new URL('../../docs/ci.md', import.meta.url), 'utf8')
/** What each service sets for a commit. */
const VARIABLES = {
  'GitHub Actions': (commit: string) => ({
    GITHUB_SHA: commit,
    GITHUB_WORKFLOW: 'Deploy',
    GITHUB_RUN_NUMBER: '7',
  }),
  'GitLab CI': (commit: string) => ({ CI_COMMIT_SHA: commit, CI_PIPELINE_URL: 'https://ci.example.com/7' }),
  Woodpecker: (commit: string) => ({ CI_COMMIT_SHA: commit, CI_PIPELINE_URL: 'https://ci.example.com/7' }),
}
type Service = keyof typeof VARIABLES

const folder = await realpath(await mkdtemp(join(tmpdir(), 'gantry-ci-')))
later({ after }, () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
await chmod(folder, 0o755)
await mkdir(join(folder, 'node'))
await symlink(USERS_NODE, join(folder, 'node/node'))

const gantry = await startGantry(
  { after },
  { GANTRY_HOME: await temporaryHome({ after }), GANTRY_SAMPLE: 'false', ...ADMIN_ENVIRONMENT },
)
const repository = await makeRepository({ after }, { files: { 'index.html': 'Welcome' } })
const good = await repository.git(['rev-parse', 'main'])
const bad = await repository.commit({ broken: 'yes' })
const administrator = await openShell(
  { after },
  { GANTRY_URL: gantry.url!, GANTRY_TOKEN: await logInAsAdmin(gantry) },
)
const GANTRY_TOKEN = await setUp()

/** The application that the jobs deploy. Returns the token that the page says to create. */
async function setUp(): Promise<string> {
  const document = `organization: Acme
project: {name: shop}
environments:
  production:
    type: production
    servers: {local: {provider_code: local, root_directory: ${join(folder, 'srv')}}}
    applications:
      web:
        repository: ${repository.address}
        build_command: if [ -e broken ]; then echo no luck; exit 3; fi
        servers: [local]
        pipelines: {Deploy: {operation: deploy}}
`
  await writeFile(join(administrator.folder, 'gantry.yaml'), document)
  const applied = await administrator.gantry(['apply', '--yes'])
  assert.equal(applied.code, 0, applied.stderr)
  const create = /^gantry (tokens create .+)$/m.exec(guide)![1]!.split(' ')
  const { stdout, stderr } = await administrator.gantry(create)
  assert.match(stdout, /^gty_pat_/, stderr)
  return stdout.trim()
}

/** In a fresh home with nothing but the system's programs and Node. */
async function runLines(lines: string, env: Record<string, string>) {
  const home = await mkdtemp(join(folder, 'home-'))
  const PATH = `${join(folder, 'node')}:/usr/bin:/bin`
  const options = { cwd: home, env: { HOME: home, PATH, GANTRY_URL: gantry.url!, GANTRY_TOKEN, ...env } }
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    execFile('sh', ['-ec', lines], options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })
}

function linesOf(service: Service): string {
  const block = new RegExp(`^## ${service}\\n+\`\`\`yaml\\n(.*?)^\`\`\`$`, 'ms').exec(guide)?.[1]
  assert.ok(block, `${service} has no job`)
  const job = parse(block, { strict: true })
  if (service === 'GitLab CI') return job.deploy.script.join('\n')
  if (service === 'Woodpecker') return job.steps[0].commands.join('\n')
  const [step] = job.jobs.deploy.steps
  assert.deepEqual(Object.keys(step.env), ['GANTRY_URL', 'GANTRY_TOKEN'])
  return step.run
}

test('the jobs install the command line, deploy a good commit with 0 and end with 1 for one that fails', async () => {
  const services = Object.keys(VARIABLES) as Service[]
  const run = (service: Service, commit: string) => runLines(linesOf(service), VARIABLES[service](commit))
  for (const { code, stdout, stderr } of await Promise.all(services.map((one) => run(one, good)))) {
    assert.equal(code, 0, stderr)
    assert.match(stdout, /Installed gantry .*\n#\d+\thttp.*\/app\/actions\/\d+\n$/s)
    assert.match(stderr, /✓ #\d+ completed/)
  }
  assert.equal(await readFile(join(folder, 'srv/web/current/index.html'), 'utf8'), 'Welcome')
  for (const { code, stderr } of await Promise.all(services.map((one) => run(one, bad)))) {
    assert.equal(code, 1, stderr)
    assert.match(stderr, /Step "build-application" failed on local\n.*│ no luck\n/s)
  }
})

test('the call without the command line waits and says how the run ended', async () => {
  const lines = /^```sh\n(.*?)^```$/ms.exec(guide)![1]!
  const { stdout: listed } = await administrator.gantry(['pipelines', 'ls', '--json'])
  const PIPELINE = String(JSON.parse(listed)[0].id)
  const { code, stdout, stderr } = await runLines(lines, { PIPELINE })
  assert.deepEqual([code, JSON.parse(stdout).status], [0, 'failed'], stderr)
})
