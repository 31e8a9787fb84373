// The pictures of pages, in the states that look different.
import { appendFile } from 'node:fs/promises'
import type { Installation } from './installation.ts'
import { type Picture, take } from './prepare.ts'

export const ORGANIZATION = '?organization=1'
export const ENVIRONMENT = '?organization=1&project=1&environment=1'

export function pagePictures(at: Installation): Picture[] {
  const whole = (name: string, path: string, prepare?: Picture['prepare']): Picture => ({
    name,
    path,
    isWhole: true,
    ...(prepare && { prepare }),
  })
  return [
    whole('overview', '/overview', (page) =>
      page.locator('figure rect').first().waitFor({ state: 'attached' }),
    ),
    whole('actions', '/actions'),
    { name: 'actions-none', path: '/actions?status=skipped' },
    whole('action-failed', `/actions/${at.failed}`, (page) =>
      page.getByRole('link', { name: 'Team chat' }).first().waitFor(),
    ),
    whole('action-running', `/actions/${at.running}`),
    { name: 'applications', path: '/applications' },
    whole('application', '/applications/1'),
    whole('application-insights', '/applications/1/insights'),
    whole('application-settings', '/applications/1/settings'),
    whole('application-variables', '/applications/1/variables'),
    whole('application-hooks', '/applications/1/hooks'),
    whole('environment', '/environments/1'),
    { name: 'servers', path: '/servers' },
    whole('server', '/servers/1', async (page) => {
      await take(page, 'Test connection')
      await page.getByText('Gantry can deploy to this server.').waitFor()
    }),
    { name: 'pipelines', path: '/pipelines' },
    whole('pipeline', '/pipelines/1'),
    whole('step', '/pipelines/1', (page) => take(page, 'Edit migrate')),
    { name: 'hooks', path: '/hooks' },
    whole('hook-incoming', `/hooks/incoming/${at.push}`),
    whole('hook-outgoing', `/hooks/outgoing/${at.chat}`),
    whole('hook-failing', `/hooks/outgoing/${at.broken}`),
    whole('add-hook-incoming', '/hooks/new?pipeline=1'),
    whole('add-hook-github', '/hooks/new?pipeline=1', (page) => take(page, /^GitHub/)),
    whole('add-hook-outgoing', '/hooks/new?pipeline=1&type=outgoing'),
    whole('hook-preset', `/hooks/outgoing/${at.preset}`, (page) => page.getByLabel('Channel').waitFor()),
    whole('add-hook-status', '/hooks/new?pipeline=1&type=outgoing', (page) => take(page, /^GitHub Status/)),
    whole('add-hook-slack', '/hooks/new?pipeline=1&type=outgoing', async (page) => {
      await take(page, /^Slack One/)
      await page.getByLabel('Credential', { exact: true }).selectOption('Add a credential…')
    }),
    { name: 'credentials', path: `/credentials${ORGANIZATION}` },
    whole('members', `/members${ORGANIZATION}`),
    whole('settings', `/settings${ORGANIZATION}`),
    { name: 'audit', path: `/audit${ORGANIZATION}` },
    whole('account', '/account'),
    { name: 'users', path: '/users' },
    { name: 'not-found', path: '/pipelines/404' },
    newHook(at),
    newApplication(at),
    conflict(at),
    { name: 'sign-in', path: '/sign-in', isSignedOut: true },
    { name: 'invitation', path: at.invitation, isSignedOut: true },
    { name: 'reset-password', path: at.passwordReset, isSignedOut: true },
    { name: 'authorize', path: at.authorization },
  ]
}

/** With what is shown once. */
function newHook({ world }: Installation): Picture {
  return {
    name: 'add-hook-created',
    path: '/hooks/new?pipeline=1',
    isWhole: true,
    async prepare(page) {
      await take(page, /^GitLab/, 'Create hook')
      await page.getByText('Waiting for the first call').waitFor()
      const { body } = await world.api('GET', '/pipelines/1/hooks')
      for (const hook of body as { id: string; name: string }[])
        if (hook.name === 'GitLab') await world.api('DELETE', `/hooks/incoming/${hook.id}`)
    },
  }
}

function newApplication({ world, sshd }: Installation): Picture {
  return {
    name: 'new-application',
    path: `/new${ENVIRONMENT}&step=repository`,
    isWhole: true,
    async prepare(page) {
      await removeServer(world, 'web-2')
      const enter = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text)
      await enter('Repository', 'https://github.com/acme/shop.git')
      await take(page, 'Inspect')
      await page.getByText('Repository found').waitFor()
      await take(page, 'Continue', 'Add another server')
      await enter('Name', 'web-2')
      await enter('Host', 'web-2.acme.example')
      await enter('Login', 'deploy')
      await take(page, 'Generate key')
      const key = page.getByLabel('Public key', { exact: true })
      await appendFile(sshd.authorizedKeys, `${await key.inputValue()}\n`)
      await enter('Root directory', '/home/deploy/apps')
      await page.getByText('More options').click()
      await enter('Port', String(sshd.port))
      await take(page, 'Add server')
      await page.getByText('Gantry can deploy to this server.').waitFor()
    },
  }
}

async function removeServer(world: Installation['world'], name: string): Promise<void> {
  const { body } = await world.api('GET', '/environments/1/servers')
  for (const server of body as { id: number; name: string }[])
    if (server.name === name) await world.api('DELETE', `/servers/${server.id}`)
}

function conflict({ world, push }: Installation): Picture {
  return {
    name: 'conflict',
    path: `/hooks/incoming/${push}`,
    isWhole: true,
    async prepare(page) {
      const name = page.getByRole('region', { name: 'Settings' }).getByLabel('Name', { exact: true })
      await name.fill('GitHub push to main')
      await world.api('PUT', `/hooks/incoming/${push}`, { name: 'Push' })
      await take(page, 'Save changes')
      await page.getByText('Someone else saved changes while you were editing').waitFor()
      await world.api('PUT', `/hooks/incoming/${push}`, { name: 'GitHub push' })
    },
  }
}
