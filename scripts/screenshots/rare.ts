// The pictures of what most installations show rarely: a first run, single sign-on, no clipboard.
import type { Page } from 'playwright-core'
import type { Installation } from './installation.ts'
import { ENVIRONMENT, ORGANIZATION } from './pages.ts'
import { opened, type Picture, take } from './prepare.ts'

export function rarePictures(at: Installation): Picture[] {
  return [
    { name: 'checklist', path: '/overview', prepare: showChecklist },
    { ...buildStep(), name: 'new-application-build' },
    { name: 'new-application-hook', path: `/new${ENVIRONMENT}&step=hook&pipeline=1`, isWhole: true },
    {
      name: 'new-application-waiting',
      path: `/new${ENVIRONMENT}&step=hook&pipeline=1`,
      isWhole: true,
      async prepare(page) {
        await take(page, /^GitHub/, 'Create hook')
        await page.getByText('Waiting for the first call').waitFor()
        await removeHooks(at, 'GitHub')
      },
    },
    {
      name: 'remove-role',
      path: `/members${ORGANIZATION}`,
      async prepare(page) {
        await at.world.api('POST', '/organizations/1/roles', {
          name: 'On call',
          permissions: ['action:view'],
        })
        await page.reload()
        await take(page, 'Actions for the role On call', 'Remove')
        await page.getByRole('dialog').getByRole('button', { name: 'Remove role' }).waitFor()
      },
    },
    {
      name: 'copy-as-text',
      path: '/pipelines/1',
      async prepare(page) {
        await page.evaluate('navigator.clipboard.writeText = () => Promise.reject(new Error("denied"))')
        await take(page, 'Copy as', 'curl command')
        await page.getByText('Select the text and copy it').waitFor()
      },
    },
    { name: 'identities', path: '/account', isWhole: true, prepare: showIdentities },
    opened(
      'password-reset-link',
      '/users',
      'Actions for developer@acme.example',
      'Reset password',
      'Create link',
      { see: 'Copy it now' },
    ),
  ]
}

/** As before the first deploy: the hook and the run are missing. */
async function showChecklist(page: Page): Promise<void> {
  await page.route(
    ({ pathname, searchParams }) =>
      (pathname === '/actions' && searchParams.get('filter[type]') === 'deploy') ||
      (pathname === '/names' && searchParams.get('type') === 'incoming_hook'),
    (route) => route.fulfill({ json: [] }),
  )
  await page.evaluate(`localStorage.removeItem('gantry-setup-hidden')`)
  await page.reload()
  await page.getByText('Deploy on push, in five steps').waitFor()
  await page.evaluate(`localStorage.setItem('gantry-setup-hidden', '1')`)
}

function buildStep(): Omit<Picture, 'name'> {
  return {
    path: `/new${ENVIRONMENT}&step=repository`,
    isWhole: true,
    async prepare(page) {
      await page.getByLabel('Repository', { exact: true }).fill('https://github.com/acme/shop.git')
      await take(page, 'Inspect')
      await page.getByText('Repository found').waitFor()
      await take(page, 'Continue')
      await page.getByLabel('web-1').check()
      await take(page, 'Continue')
      await page.getByRole('button', { name: 'Create application and pipeline' }).waitFor()
    },
  }
}

async function showIdentities(page: Page): Promise<void> {
  const oidc = { label: 'Acme SSO' }
  const identity = {
    id: 1,
    issuer: 'https://id.acme.example',
    label: 'admin@acme.example',
    created_at: '2026-06-01T08:00:00.000Z',
    last_used_at: '2026-11-15T08:00:00.000Z',
  }
  await page.route('**/session/options', (route) => route.fulfill({ json: { password: true, oidc } }))
  await page.route('**/users/me/identities', (route) => route.fulfill({ json: [identity] }))
  await page.reload()
  await page.getByText('https://id.acme.example').waitFor()
}

async function removeHooks({ world }: Installation, name: string): Promise<void> {
  const { body } = await world.api('GET', '/pipelines/1/hooks')
  for (const hook of body as { id: string; name: string }[])
    if (hook.name === name) await world.api('DELETE', `/hooks/incoming/${hook.id}`)
}
