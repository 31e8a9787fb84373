// The pictures of dialogs, drawers and menus.
import type { Page } from 'playwright-core'
import type { Installation } from './installation.ts'
import type { Picture } from './pictures.ts'

export const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first().click()

const ORGANIZATION = '?organization=1'
const ENVIRONMENT = '?organization=1&project=1&environment=1'

/** Presses the button, and waits for what it opens. */
function opened(name: string, path: string, button: string | RegExp): Picture {
  return {
    name,
    path,
    async prepare(page) {
      await press(page, button)
      await page.getByRole('dialog').getByRole('button').first().waitFor()
    },
  }
}

/** The same, from the menu of further actions. */
function fromMenu(name: string, path: string, item: RegExp): Picture {
  return {
    name,
    path,
    async prepare(page) {
      await page.getByRole('button', { name: 'More actions', exact: true }).click()
      await page.getByRole('menuitem', { name: item }).click()
      await page.getByRole('dialog').getByRole('button').first().waitFor()
    },
  }
}

export function dialogPictures(at: Installation): Picture[] {
  return [
    opened('run', '/pipelines/1', /^Run/),
    opened('roll-back', '/pipelines/1', /^Roll back/),
    opened('add-server', `/servers${ENVIRONMENT}`, 'Add server'),
    opened('add-application', `/applications${ENVIRONMENT}`, 'Add application'),
    opened('paste-env', '/applications/1', /^Paste/),
    opened('add-pipeline', `/pipelines${ENVIRONMENT}`, 'Add pipeline'),
    opened('pipeline-settings', '/pipelines/1', 'Edit settings'),
    {
      name: 'step',
      path: '/pipelines/1',
      isWhole: true,
      async prepare(page) {
        await press(page, 'Edit migrate')
        await page.getByText('More options').first().waitFor()
      },
    },
    { name: 'add-hook-incoming', path: '/hooks/new?pipeline=1' },
    {
      name: 'add-hook-github',
      path: '/hooks/new?pipeline=1',
      prepare: (page) => press(page, /^GitHub/),
    },
    {
      name: 'add-hook-outgoing',
      path: '/hooks/new?pipeline=1',
      async prepare(page) {
        await page.getByText('Outgoing: reports its runs').click()
        await page.getByRole('button', { name: /^Slack/ }).waitFor()
      },
    },
    {
      name: 'delivery',
      path: `/hooks/outgoing/${at.chat}`,
      async prepare(page) {
        await page
          .getByRole('row', { name: /Delivered/ })
          .first()
          .getByRole('button')
          .first()
          .click()
        await page.getByRole('dialog').getByRole('heading').first().waitFor()
      },
    },
    opened('invite', `/members${ORGANIZATION}`, /^Invite/),
    opened('role', `/members${ORGANIZATION}`, 'Add role'),
    opened('token', '/account', /token/i),
    opened('add-credential', `/credentials${ORGANIZATION}`, 'Add credential'),
    opened('apply', `/settings${ORGANIZATION}`, /^Apply/),
    fromMenu('remove', '/pipelines/1', /Remove/),
    {
      name: 'palette',
      path: '/overview',
      async prepare(page) {
        await page.keyboard.press('Control+k')
        await page
          .getByPlaceholder(/Search/)
          .last()
          .fill('shop')
        await page.getByText('Deploy shop').last().waitFor()
      },
    },
    {
      name: 'navigation',
      path: '/overview',
      isNarrowOnly: true,
      prepare: (page) => press(page, 'Navigation'),
    },
    {
      name: 'conflict',
      path: `/hooks/incoming/${at.push}`,
      isWhole: true,
      async prepare(page) {
        const name = page.getByRole('region', { name: 'Settings' }).getByLabel('Name', { exact: true })
        await name.fill('GitHub push to main')
        await at.world.api('PUT', `/hooks/incoming/${at.push}`, { name: 'Push' })
        await press(page, 'Save changes')
        await page.getByText('Somebody else changed this meanwhile').waitFor()
        await at.world.api('PUT', `/hooks/incoming/${at.push}`, { name: 'GitHub push' })
      },
    },
  ]
}
