// Every picture: where it is taken, and what is done there first.
import { appendFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { dialogPictures, press } from './dialogs.ts'
import type { Installation } from './installation.ts'

export type Picture = {
  name: string
  path: string
  /** Until the picture shows what it is about. */
  prepare?(page: Page): Promise<unknown>
  /** Higher than the window. */
  isWhole?: boolean
  /** Wide windows do not have it. */
  isNarrowOnly?: boolean
}

/** The ones that README and docs show. */
export const USED = [
  'action-failed-light-wide',
  'actions-light-wide',
  'hook-call-light-wide',
  'new-application-light-wide',
  'overview-dark-wide',
]

export function allPictures(installation: Installation): Picture[] {
  return [...pagePictures(installation), ...guidedPictures(installation), ...dialogPictures(installation)]
}

function pagePictures(at: Installation): Picture[] {
  return [
    {
      name: 'overview',
      path: '/overview',
      isWhole: true,
      prepare: (page) => page.locator('figure rect').first().waitFor({ state: 'attached' }),
    },
    { name: 'actions', path: '/actions' },
    {
      name: 'action-failed',
      path: `/actions/${at.failed}`,
      isWhole: true,
      prepare: (page) => page.getByRole('link', { name: 'Team chat' }).first().waitFor(),
    },
    { name: 'action-running', path: `/actions/${at.running}`, isWhole: true },
    { name: 'applications', path: '/applications' },
    { name: 'application', path: '/applications/1', isWhole: true },
    { name: 'servers', path: '/servers' },
    { name: 'server', path: '/servers/1', isWhole: true },
    { name: 'pipelines', path: '/pipelines' },
    { name: 'pipeline', path: '/pipelines/1', isWhole: true },
    { name: 'hooks', path: '/hooks' },
    { name: 'hook-incoming', path: `/hooks/incoming/${at.push}`, isWhole: true },
    { name: 'hook-outgoing', path: `/hooks/outgoing/${at.chat}`, isWhole: true },
    { name: 'hook-failing', path: `/hooks/outgoing/${at.broken}`, isWhole: true },
    { name: 'credentials', path: '/credentials?organization=1' },
    { name: 'members', path: '/members?organization=1', isWhole: true },
    { name: 'settings', path: '/settings?organization=1', isWhole: true },
    { name: 'audit', path: '/audit?organization=1' },
    { name: 'account', path: '/account', isWhole: true },
    { name: 'users', path: '/users' },
    {
      name: 'hook-call',
      path: `/hooks/incoming/${at.picky}`,
      async prepare(page) {
        await page
          .getByRole('row', { name: /Rejected/ })
          .getByRole('button')
          .click()
        const drawer = page.getByRole('dialog', { name: 'Received call' })
        await drawer.getByText('is required, but the payload has no value').first().waitFor()
        await drawer.getByRole('treeitem', { name: /^tag_name/ }).click()
        await drawer.getByLabel('Path of variable 1').fill('release.tag_name')
        await drawer.getByText('Would start a run').waitFor()
      },
    },
  ]
}

function guidedPictures({ world, sshd }: Installation): Picture[] {
  return [
    {
      name: 'new-application',
      path: '/new?organization=1&project=1&environment=1&step=repository',
      async prepare(page) {
        await removeServer(world, 'web-2')
        const enter = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text)
        await enter('Repository', 'https://github.com/acme/shop.git')
        await press(page, 'Inspect')
        await page.getByText('Repository found').waitFor()
        await press(page, 'Continue')
        await press(page, 'Add another server')
        await enter('Name', 'web-2')
        await enter('Host', 'web-2.acme.example')
        await enter('Login', 'deploy')
        await press(page, 'Generate key')
        const key = page.getByLabel('Public key', { exact: true })
        await appendFile(sshd.authorizedKeys, `${await key.inputValue()}\n`)
        await enter('Root directory', '/home/deploy/apps')
        await page.getByText('More options').click()
        await enter('Port', String(sshd.port))
        await page.getByRole('button', { name: 'Add server', exact: true }).click()
        await page.getByText('Gantry can deploy to this server.').waitFor()
      },
    },
  ]
}

async function removeServer(world: Installation['world'], name: string): Promise<void> {
  const { body } = await world.api('GET', '/environments/1/servers')
  for (const server of body as { id: number; name: string }[])
    if (server.name === name) await world.api('DELETE', `/servers/${server.id}`)
}
