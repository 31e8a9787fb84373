// What the pages show instead of this machine's addresses and folders, and instead of an empty history. The data
// itself stays as it is.
import type { BrowserContext } from 'playwright-core'
import type { Installation } from './installation.ts'

export async function beautify(context: BrowserContext, installation: Installation): Promise<void> {
  const { world, sshd, receiver, slack, repository } = installation
  const { body: server } = await world.api('GET', '/servers/1')
  const account = sshd.accounts[0]!
  const shown: [string, string][] = [
    [receiver, 'https://chat.acme.example'],
    [slack, 'https://slack.com'],
    ['http://127.0.0.1:9/', 'https://status.acme.example/'],
    [world.url, 'https://gantry.acme.example'],
    [new URL(world.url).host, 'gantry.acme.example'],
    [server.root_directory, '/srv/apps'],
    [account.home, '/home/deploy'],
    [account.name, 'deploy'],
    ['"host":"127.0.0.1"', '"host":"web-2.acme.example"'],
    ['127.0.0.1', '192.0.2.44'],
    [repository, 'https://github.com/acme/shop.git'],
    ['admin@example.com', 'admin@acme.example'],
    ['viewer@example.com', 'viewer@acme.example'],
    ['Vera Viewer', 'Support'],
    ['Unreachable receiver', 'Uptime monitor'],
    ['External service', 'Nightly schedule'],
    ['Say hello', 'Require a region for each order'],
    // No longer the sample.
    ['sample-organization', 'acme'],
  ]
  const entered: [string, string][] = [
    ['https://chat.acme.example', receiver],
    ['https://slack.com', slack],
    ['https://status.acme.example/', 'http://127.0.0.1:9/'],
    ['https://github.com/acme/shop.git', repository],
    ['"host":"web-2.acme.example"', '"host":"127.0.0.1"'],
    ['"login_name":"deploy"', `"login_name":"${account.name}"`],
    ['/home/deploy', account.home],
  ]
  await context.route(
    (url) => !/^\/app\/|stream$/.test(url.pathname),
    async (route) => {
      if (route.request().resourceType() !== 'fetch') return route.continue()
      const sent = route.request().postData()
      // Null when the page is gone meanwhile.
      const response = await route
        .fetch(sent ? { postData: replaceAll(sent, entered) } : {})
        .catch(() => null)
      if (!response) return
      let body = replaceAll(await response.text(), shown)
      if (new URL(route.request().url()).pathname === '/overview') body = withHistory(body)
      return route.fulfill({ response, body })
    },
  )
}

function replaceAll(text: string, pairs: [string, string][]): string {
  return pairs.reduce((result, [from, to]) => result.replaceAll(from, to), text)
}

/** A Gantry that is a minute old has no history; this one is made up. */
function withHistory(body: string): string {
  const overview = JSON.parse(body)
  for (const [index, day] of overview.runs_per_day.entries()) {
    day.completed += 9 + ((index * 7) % 11) + (index % 7 < 5 ? 6 : 0)
    day.failed += (index * 5) % 13 === 0 ? 3 : index % 4 === 0 ? 1 : 0
  }
  for (const [index, day] of overview.median_duration_seconds_per_day.entries())
    day.seconds = 38 + ((index * 13) % 17) + (index > 20 ? -12 : 0)
  return JSON.stringify(overview)
}
