// The pictures of dialogs, drawers and menus.
import type { Installation } from './installation.ts'
import { ENVIRONMENT, ORGANIZATION } from './pages.ts'
import { opened, type Picture, take } from './prepare.ts'

const MORE = 'More actions'
const ONCE = { see: 'Copy it now' }

export function dialogPictures(at: Installation): Picture[] {
  const incoming = `/hooks/incoming/${at.picky}`
  const outgoing = `/hooks/outgoing/${at.chat}`
  const failing = `/hooks/outgoing/${at.broken}`
  return [
    opened('run', '/pipelines/1', 'Run'),
    opened('roll-back', '/pipelines/1', 'Roll back'),
    opened('retry', `/actions/${at.failed}`, 'Retry'),
    opened('cancel', `/actions/${at.running}`, 'Cancel'),
    opened('request', `/actions/${at.failed}`, 'Details'),
    opened('replay', `/actions/${at.failed}`, 'Replay'),
    opened('add-server', `/servers${ENVIRONMENT}`, 'Add server'),
    opened('edit-server', '/servers/1', 'Edit'),
    opened('remove-server', '/servers/1', MORE, 'Remove'),
    opened('add-application', `/applications${ENVIRONMENT}`, 'Add application'),
    opened('edit-application', '/applications/1/settings', 'Edit'),
    opened('deploy-application', '/applications/1', 'Deploy'),
    opened('remove-application', '/applications/1', MORE, 'Remove'),
    opened('unlink-server', '/applications/1/settings', /^Unlink/),
    opened('paste-env', '/applications/1/variables', 'Paste .env', {
      fill: 'Contents',
      with: 'LOG_LEVEL=debug\nREGION=eu-1\n# a comment',
    }),
    opened('add-pipeline', `/pipelines${ENVIRONMENT}`, 'Add pipeline'),
    opened('pipeline-settings', '/pipelines/1', 'Edit settings'),
    opened('remove-step', '/pipelines/1', 'More actions for migrate', 'Remove'),
    opened('remove-pipeline', '/pipelines/1', MORE, /^Remove/),
    hookCall(at),
    opened('try-payload', incoming, 'Try a payload'),
    opened('rotate-incoming', incoming, MORE, 'Rotate secret'),
    opened('new-secret-incoming', incoming, MORE, 'Rotate secret', 'Rotate secret', ONCE),
    opened('remove-hook', incoming, MORE, 'Remove hook'),
    {
      name: 'delivery',
      path: outgoing,
      async prepare(page) {
        const row = page.getByRole('row', { name: /Delivered/ }).first()
        await row.getByRole('button').first().click()
        await page.getByRole('dialog').getByRole('heading', { name: 'Request' }).waitFor()
      },
    },
    opened('eject', `/hooks/outgoing/${at.preset}`, 'Make it an ordinary hook'),
    opened('send-test', outgoing, 'Send test'),
    opened('redeliver', failing, 'Redeliver failed…'),
    opened('rotate-outgoing', outgoing, MORE, 'Rotate secret'),
    opened('new-secret-outgoing', outgoing, MORE, 'Rotate secret', 'Rotate secret', ONCE),
    opened('invite', `/members${ORGANIZATION}`, 'Invite'),
    opened(
      'invited',
      `/members${ORGANIZATION}`,
      'Invite',
      { fill: 'Email', with: at.invitee() },
      'Create link',
      ONCE,
    ),
    opened('revoke-invitation', `/members${ORGANIZATION}`, /^Revoke the invitation/),
    opened('member', `/members${ORGANIZATION}`, 'Actions for Developer', 'Change roles'),
    opened('remove-member', `/members${ORGANIZATION}`, 'Actions for Developer', 'Remove'),
    opened('role', `/members${ORGANIZATION}`, 'Add role'),
    opened('token', '/account', 'New token'),
    opened(
      'token-created',
      '/account',
      'New token',
      { fill: 'Name', with: 'CI of the web shop' },
      'Create token',
      ONCE,
    ),
    opened('sign-out-everywhere', '/account', 'Sign out everywhere'),
    opened('add-credential', `/credentials${ORGANIZATION}`, 'Add credential'),
    opened('edit-credential', `/credentials${ORGANIZATION}`, /^Actions for web-key/, /^Edit/),
    opened('check-credential', `/credentials${ORGANIZATION}`, /^Actions for web-key/, 'Check'),
    opened('show-key', `/credentials${ORGANIZATION}`, /^Actions for web-key/, 'Show public key'),
    opened('remove-credential', `/credentials${ORGANIZATION}`, /^Actions for web-key/, 'Remove'),
    opened('apply', `/settings${ORGANIZATION}`, 'Apply gantry.yaml'),
    opened('add-organization', `/settings${ORGANIZATION}`, 'Add organization'),
    opened('remove-organization', `/settings${ORGANIZATION}`, /for the organization$/, 'Remove organization'),
    opened('add-project', `/settings${ORGANIZATION}`, 'Add project'),
    opened('edit-project', `/settings${ORGANIZATION}`, 'Actions for project Web shop', 'Edit'),
    opened('remove-project', `/settings${ORGANIZATION}`, 'Actions for project Web shop', 'Remove'),
    opened('add-environment', `/settings${ORGANIZATION}`, 'Add environment'),
    opened('edit-environment', `/settings${ORGANIZATION}`, 'Actions for environment Staging', 'Edit'),
    opened('remove-environment', `/settings${ORGANIZATION}`, 'Actions for environment Staging', 'Remove'),
    opened('archive-environment', `/settings${ORGANIZATION}`, 'Actions for environment Staging', 'Archive'),
    opened('audit-entry', `/audit${ORGANIZATION}`, /^Changed pipeline/),
    opened('reset-a-password', '/users', 'Actions for developer@acme.example', 'Reset password'),
    opened('deactivate-user', '/users', 'Actions for developer@acme.example', 'Deactivate'),
    {
      name: 'copy-as',
      path: '/pipelines/1',
      async prepare(page) {
        await take(page, 'Copy as')
        await page.getByRole('menuitem').first().waitFor()
      },
    },
    {
      name: 'palette',
      path: '/overview',
      async prepare(page) {
        await page.keyboard.press('Control+k')
        await page.getByRole('dialog').locator('input').fill('shop')
        await page
          .getByRole('option', { name: /Deploy shop/ })
          .first()
          .waitFor()
      },
    },
    { ...opened('navigation', '/overview', 'Navigation'), isNarrowOnly: true },
    {
      name: 'leave',
      path: '/account',
      async prepare(page) {
        await page.getByLabel('Name', { exact: true }).fill('Somebody')
        await page.getByRole('link', { name: 'Gantry' }).first().click()
        await page.getByText('Discard unsaved changes?').waitFor()
      },
    },
    {
      name: 'session-ended',
      path: '/actions',
      isNeverLoaded: true,
      async prepare(page) {
        const context = page.context()
        const cookies = await context.cookies()
        await context.clearCookies()
        await page.getByLabel('Operation').selectOption('custom')
        await page.getByText('Your session has ended').waitFor()
        await context.addCookies(cookies)
      },
    },
  ]
}

/** A rejected call, and what the hook would do with it after a change. */
function hookCall(at: Installation): Picture {
  return {
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
  }
}
