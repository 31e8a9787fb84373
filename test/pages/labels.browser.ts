// What lists and heads of pages say about runs: what kind they are, where they belong, and what they ran on.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from '#test/support/until.ts'
import { looksRight } from './looks.ts'
import { goTo, openPage, openPagesWorld, type PagesWorld } from './world.ts'

describe('labels of runs', () => {
  let world: PagesWorld
  let rollback: number
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    world = await openPagesWorld({ after: (end) => ends.push(end) })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  it('say "No runs yet" only of a server that was never a target', async () => {
    const { page, errors, close } = await openPage(world, '/app/servers')
    const row = page.getByRole('row', { name: /This machine/ }).last()
    await row.getByText('No runs yet').waitFor()
    const first = await world.deploy()
    await row.getByRole('link', { name: `(run #${first.id})` }).waitFor()
    await goTo(page, '/app/servers/1')
    await page.getByRole('link', { name: `Deploy Hello Gantry #${first.id}`, exact: true }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('name rollbacks in every list', async () => {
    await world.deploy()
    const { body: hook } = await world.api('POST', '/pipelines/1/hooks/outgoing', {
      name: 'Closed receiver',
      target_url: 'http://127.0.0.1:9/notify',
      trigger_when: { events: ['action.completed'] },
    })
    const { status, body } = await world.api('POST', '/pipelines/1/actions', { type: 'rollback' })
    assert.equal(status, 201, JSON.stringify(body))
    rollback = body.id
    await until('it has completed', 20_000, async () => {
      return (await world.api('GET', `/actions/${rollback}`)).body.status === 'completed'
    })
    const { page, errors, close } = await openPage(world, '/app/actions')
    const row = page.locator(`[data-action="${rollback}"]`)
    await row.getByText(/^Rollback · Hello Gantry/).waitFor()
    const title = `Deploy Hello Gantry #${rollback} (rollback)`
    for (const path of ['/app/applications/1', '/app/servers/1', `/app/hooks/outgoing/${hook.id}`]) {
      await goTo(page, path)
      await page.getByRole('link', { name: title }).first().waitFor()
    }
    await goTo(page, '/app/applications/1')
    await page.getByRole('link', { name: `#${rollback} (rollback)`, exact: true }).waitFor()
    for (const path of ['/app/applications', '/app/servers', '/app/pipelines']) {
      await goTo(page, path)
      await page.getByText('(rollback)').first().waitFor()
    }
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search and commands' }).fill(`#${rollback}`)
    await page.getByRole('option', { name: title }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: title }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('are found, started and rolled back from the palette, in spite of typos', async () => {
    const { body: action } = await world.api('GET', `/actions/${rollback}`)
    const { page, errors, close } = await openPage(world, '/app/overview')
    await page.getByText('Nothing is running').waitFor()
    const offered: [typed: string, option: string][] = [
      [action.action_data.commit.hash.slice(0, 9), `Deploy Hello Gantry #${rollback} (rollback)`],
      ['run', 'Run Two steps'],
      ['roll back', 'Roll back Hello Gantry'],
      ['rolback helo', 'Roll back Hello Gantry'],
      ['Helo Gnatry', 'Hello Gantry'],
      ['depoly', 'Deploy Hello Gantry'],
      ['deploy hello', 'Deploy Hello Gantry'],
    ]
    await page.keyboard.press('Control+k')
    const input = page.getByRole('combobox', { name: 'Search and commands' })
    for (const [typed, option] of offered) {
      await input.fill(typed)
      await page.getByRole('option', { name: option }).first().waitFor()
    }
    await looksRight(page, 'the palette with a command')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Run' }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('lead from a run and a pipeline to the application, and show their project in the switcher', async () => {
    const { page, errors, close } = await openPage(world, `/app/actions/${rollback}`)
    const project = page.getByRole('combobox', { name: 'Project' })
    await until('the project is shown', 20_000, async () => (await project.inputValue()) === 'Sample project')
    await looksRight(page, 'the page of a rollback')
    await page.locator('main').getByRole('link', { name: 'Deploy Hello Gantry', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Deploy Hello Gantry' }).waitFor()
    const breadcrumbs = page.getByRole('navigation', { name: 'Scope' })
    await breadcrumbs.getByRole('link', { name: 'Hello Gantry' }).click()
    await page.getByRole('heading', { level: 1, name: 'Hello Gantry' }).waitFor()
    await until('the project is shown', 20_000, async () => (await project.inputValue()) === 'Sample project')
    await page.getByRole('link', { name: 'Applications', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Applications' }).waitFor()
    await until('no project is', 20_000, async () => (await project.inputValue()) === 'All projects')
    assert.deepEqual(errors, [])
    await close()
  })

  it('count as many notifications as there are rows', async () => {
    await world.openAll()
    const id = await world.callHook({})
    const { page, close } = await openPage(world, `/app/actions/${id}`)
    const section = page.getByRole('region', { name: 'Notifications' })
    await page.getByText('All targets completed.').waitFor()
    await until('the count equals the rows', 20_000, async () => {
      const rows = await section.locator('tbody tr').count()
      const counts = (await section.innerText()).match(/^(\d+ [a-z]+)(, \d+ [a-z]+)*$/m)?.[0]
      const sum = counts?.match(/\d+/g)?.reduce((total, one) => total + Number(one), 0)
      return rows > 1 && sum === rows
    })
    await close()
  })
})
