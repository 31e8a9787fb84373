// The recipes of docs/guides/releases.md under load: a static site and a Node server behind a real nginx, deployed through
// a real sshd. Nothing that the recipes promise to serve may fail while releases change.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { temporaryFolder } from '#model/deploy/fixtures.ts'
import { deployWith } from '#test/support/inventory.ts'
import { later } from '#test/support/later.ts'
import { freePort, isListening } from '#test/support/ports.ts'
import { makeRepository } from '#test/support/repository.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { startSshd } from '#test/support/sshd.ts'
import { until } from '#test/support/until.ts'

const all = { after }
const world = await openRunWorld(all)
const sshd = await startSshd(all)

/** As the recipe has it; slow enough that a restart always meets requests that are being answered. */
const SERVER = `import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Server } from 'node:net'
const version = readFileSync('public/version.txt', 'utf8')
const server = createServer((request, response) => setTimeout(() => response.end(version), 20))
server.listen({ fd: 3 })
process.on('SIGTERM', () => Server.prototype.close.call(server, () => process.exit(0)))
`

const again = (step: { name: string; command: string }) => ({
  ...step,
  idempotent: true,
  run_on_revert: true,
})

suite('recipes', () => {
  test('switch without a failed request: a static site, and a Node server with socket activation', async (t) => {
    const folder = await temporaryFolder(t)
    await chmod(folder, 0o777)
    const server = await world.newSshServer(sshd, 0)
    const repository = await makeRepository(t, {
      files: { 'public/version.txt': 'v1', 'server.mjs': SERVER },
    })
    const pidFile = join(folder, 'pid')
    // What `systemctl restart shop` does to the service; then a smoke test.
    const restart = `if [ -e '${pidFile}' ]; then
  old=$(cat '${pidFile}'); kill -TERM "$old"
  for n in $(seq 200); do [ "$(cat '${pidFile}')" != "$old" ] && break; sleep 0.05; done
fi
[ "$(cat public/version.txt)" != bad ]`
    const shop = await world.makeDeployable({
      repository: repository.address,
      servers: [server],
      pipeline: { on_failure: 'revert' },
      steps: deployWith({ 'activate-new-release': again({ name: 'restart', command: restart }) }),
    })
    await world.completed(await world.run(shop.pipelineId))
    const base = shop.bases[0]!
    const appPort = await startSocketActivated(t, folder, base, pidFile)
    const url = await startNginx(t, folder, base, appPort)
    const load = startLoad(url, ['/version.txt', '/app'], ['v1', 'v2', 'v3', 'v4', 'bad'])
    await until('both answer', 20_000, () => load.seen('/app', 'v1') && load.seen('/version.txt', 'v1'))

    for (const version of ['v2', 'v3', 'v4']) {
      await repository.commit({ 'public/version.txt': version })
      await world.completed(await world.run(shop.pipelineId))
      for (const path of ['/app', '/version.txt'])
        await until(`${path} is ${version}`, 20_000, () => load.seen(path, version))
    }
    const good = load.counts()
    await repository.commit({ 'public/version.txt': 'bad' })
    await world.endedWith('FAILED_REVERTED', await world.run(shop.pipelineId))
    for (const path of ['/app', '/version.txt'])
      await until(`${path} is v4 again`, 20_000, () => load.newest(path) === 'v4')
    const { requests, failures } = await load.stop()
    t.diagnostic(`good deploys: ${good.requests} requests, ${good.failures.length} failed`)
    t.diagnostic(`with a bad deploy: ${requests} requests, ${failures.length} failed`)
    assert.deepEqual(failures, [])
    assert.ok(good.requests > 200, `${good.requests} requests`)
  })
})

/**
 * A server behind a listening socket that outlives it, as with a socket unit of systemd: connections wait in the socket
 * while the server restarts. The loop stands for systemd, which starts the service again from `current`.
 */
async function startSocketActivated(
  t: Parameters<typeof later>[0],
  folder: string,
  base: string,
  pidFile: string,
): Promise<number> {
  const port = await freePort()
  const script = join(folder, 'service.sh')
  await writeFile(
    script,
    `while sleep 0.01; do
  (export LISTEN_PID=$BASHPID; echo $BASHPID > '${pidFile}.new'; mv '${pidFile}.new' '${pidFile}'
   cd '${base}/current' && exec '${process.execPath}' server.mjs)
done
`,
  )
  // The account of the deploys restarts it.
  const [account] = sshd.accounts
  const id = (flag: string) => Number(execFileSync('id', [flag, account!.name], { encoding: 'utf8' }))
  const identity = process.getuid!() === 0 ? { uid: id('-u'), gid: id('-g') } : {}
  const args = ['-l', `127.0.0.1:${port}`, '-E', 'PATH', '/bin/bash', script]
  const child = spawn('/usr/bin/systemd-socket-activate', args, {
    ...identity,
    cwd: '/',
    detached: true,
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  later(t, async () => {
    process.kill(-child.pid!, 'SIGKILL')
    await ended
  })
  await until('the socket listens', 10_000, () => isListening(port))
  return port
}

async function startNginx(
  t: Parameters<typeof later>[0],
  folder: string,
  base: string,
  appPort: number,
): Promise<string> {
  const port = await freePort()
  await mkdir(join(folder, 'nginx'))
  const config = join(folder, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `  ${kind}_temp_path ${folder}/nginx/${kind};`)
    .join('\n')
  await writeFile(
    config,
    `${process.getuid!() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
pid ${folder}/nginx/pid;
error_log ${folder}/nginx/error.log;
events {}
http {
  access_log off;
${temporary}
  server {
    listen 127.0.0.1:${port};
    location / { root ${base}/current/public; }
    location /app { proxy_pass http://127.0.0.1:${appPort}; }
  }
}
`,
  )
  const child = spawn('/usr/sbin/nginx', ['-e', `${folder}/nginx/error.log`, '-c', config], {
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  later(t, async () => {
    child.kill('SIGTERM')
    await ended
  })
  await until('nginx listens', 10_000, () => isListening(port)).catch(async (error) => {
    throw new Error(`${error}: ${await readFile(`${folder}/nginx/error.log`, 'utf8').catch(() => '')}`)
  })
  return `http://127.0.0.1:${port}`
}

const CLIENTS = 4
const GAP_MS = 10

/** Clients with connections that they keep, each asking for one path after the other. */
function startLoad(url: string, paths: string[], versions: string[]) {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
  const seen = new Set<string>()
  const newest = new Map<string, string>()
  const failures: string[] = []
  let requests = 0
  let isOver = false

  async function ask(path: string): Promise<void> {
    requests += 1
    try {
      const { status, body } = await fetchText(agent, `${url}${path}`)
      if (status === 200 && versions.includes(body)) {
        seen.add(`${path} ${body}`)
        newest.set(path, body)
      } else failures.push(`${path}: ${status} ${body.slice(0, 80)}`)
    } catch (error) {
      failures.push(`${path}: ${error}`)
    }
  }

  const clients = Array.from({ length: CLIENTS }, async (_, index) => {
    for (let n = index; !isOver; n += 1) {
      await ask(paths[n % paths.length]!)
      await delay(GAP_MS)
    }
  })
  return {
    seen: (path: string, version: string) => seen.has(`${path} ${version}`),
    newest: (path: string) => newest.get(path),
    counts: () => ({ requests, failures: [...failures] }),
    async stop() {
      isOver = true
      await Promise.all(clients)
      agent.destroy()
      return { requests, failures }
    },
  }
}

async function fetchText(agent: Agent, url: string): Promise<{ status: number; body: string }> {
  const request = get(url, { agent, timeout: 20_000 })
  request.on('timeout', () => request.destroy(new Error('no answer in 20 s')))
  const [response] = await once(request, 'response')
  let body = ''
  for await (const chunk of response.setEncoding('utf8')) body += chunk
  return { status: response.statusCode, body }
}
