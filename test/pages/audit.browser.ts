// The audit page in a real browser, in front of a real Gantry.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from '#test/support/until.ts'
import { focusMovesTo, tabTo } from './keyboard.ts'
import { looksRight } from './looks.ts'
import { openPage, openPagesWorld, type PagesWorld } from './world.ts'

describe('the audit page', () => {
  let world: PagesWorld
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    world = await openPagesWorld({ after: (end) => ends.push(end) })
    const { projectId } = await world.createProject('Web shop', 'Production')
    const invitation = { email: 'ada@example.com', role: 'viewer', project_id: projectId }
    assert.equal((await world.api('POST', '/organizations/1/invitations', invitation)).status, 201)
    const { status } = await world.api('PUT', `/pipelines/${world.pipelineId}`, { name: '<b>Renamed</b>' })
    assert.equal(status, 200)
  })
  after(async () => {
    for (const end of ends) await end()
  })

  it('filters by kind, change, person and time in the URL, and shows what changed by name', async () => {
    const { page, errors, close } = await openPage(world, '/app/audit')
    const table = page.getByRole('table', { name: 'Audit entries' })
    await table.getByText('Created project').waitFor()
    await page.getByLabel('Kind').selectOption('Pipeline')
    await page.getByLabel('Change', { exact: true }).selectOption('Changed')
    await page.getByLabel('Person').selectOption('Administrator (admin@example.com)')
    await page.getByLabel('Time').selectOption('Last hour')
    await until('one entry is left', 20_000, async () => (await table.getByRole('row').count()) === 2)
    await page.reload()
    assert.equal(await page.getByLabel('Kind').inputValue(), 'pipeline')
    await table.getByRole('button', { name: 'Changed pipeline <b>Renamed</b>' }).click()
    const dialog = page.getByRole('dialog')
    const name = dialog.getByRole('row').filter({ hasText: 'Two steps' })
    await name.getByText('<b>Renamed</b>').waitFor()
    await dialog.getByText('Administrator (admin@example.com)').waitFor()
    await page.keyboard.press('Escape')

    const href = await page.getByRole('link', { name: 'Export' }).getAttribute('href')
    const lines = (await (await page.request.get(href!)).text()).trim().split('\n')
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).subject_name),
      ['<b>Renamed</b>'],
    )

    await page.getByRole('button', { name: 'Clear' }).click()
    await table.getByRole('button', { name: 'Created invitation ada@example.com' }).click()
    await dialog
      .getByRole('row')
      .filter({ hasText: 'project_id' })
      .getByText(/^Web shop \(#\d+\)$/)
      .waitFor()
    await page.keyboard.press('Escape')
    await page.goto('/app/audit?period=days&to=2001-01-01')
    await page.getByText('No entry of the audit log matches these filters.').waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('is read by keyboard alone', async () => {
    const { page, close } = await openPage(world, '/app/audit')
    await page.getByRole('heading', { name: 'Audit' }).waitFor()
    await tabTo(page, 'Kind')
    await page.keyboard.type('Proj')
    await page.getByRole('button', { name: 'Created server' }).first().waitFor({ state: 'detached' })
    await tabTo(page, 'Created project Web shop')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByRole('row').filter({ hasText: 'Web shop' }).waitFor()
    await page.keyboard.press('Escape')
    await focusMovesTo(page, 'Created project Web shop')
    await close()
  })

  it('shows accounts and all organizations to instance administrators, page by page', async () => {
    const { page, close } = await openPage(world, '/app/audit?kind=project')
    await page.getByText('Everything', { exact: true }).click()
    await page.getByRole('button', { name: 'Signed in viewer@example.com' }).first().waitFor()
    assert.match(page.url(), /all=1/)
    assert.equal(await page.getByLabel('Kind').inputValue(), '')
    for (let n = 0; n < 51; n += 1) await world.api('PUT', '/projects/1', { name: `Sample ${n}` })
    await page.reload()
    await page.getByRole('button', { name: 'Older' }).click()
    await page.getByText(/^Page 2 ·/).waitFor()
    await page.getByRole('button', { name: 'Signed in viewer@example.com' }).first().waitFor()
    await close()
  })

  it('says why a viewer cannot read it', async () => {
    const { page, errors, close } = await openPage(world, '/app/audit', world.viewer)
    await page.getByText('You cannot read this audit log').waitFor()
    await page.getByText('Your role does not include organization:edit.').waitFor()
    await page.goto('/app/audit?all=1')
    await page.getByText('You cannot read this audit log').waitFor()
    assert.equal((await page.request.get('/organizations/1/audit')).status(), 403)
    assert.deepEqual(errors, [])
    await close()
  })

  it('looks right', async () => {
    const { page, errors, close } = await openPage(world, '/app/audit?all=1&period=days')
    await looksRight(page, 'audit')
    await page
      .getByRole('button', { name: /Changed project/ })
      .first()
      .click()
    await looksRight(page, 'an entry')
    assert.deepEqual(errors, [])
    await close()
  })
})
