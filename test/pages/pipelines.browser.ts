// Pipelines and their steps: built, reordered and changed in a real browser in front of a real Gantry.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { until } from '#test/support/until.ts'
import { findViolations } from './axe.ts'
import { arrowTo, focusMovesTo, tabTo } from './keyboard.ts'
import { looksRight } from './looks.ts'
import { isDisabledWithReason, isLoaded, openPage, openPagesWorld, type PagesWorld } from './world.ts'
import { assertWrites } from './writes.ts'

const DEPLOY = [
  ...['check-app-environment', 'get-new-release', 'install-dependencies'],
  ...['build-application', 'activate-new-release', 'remove-old-releases'],
]

describe('pipelines in the browser', () => {
  let world: PagesWorld
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    world = await openPagesWorld({ after: (end) => ends.push(end) })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  async function createPipeline(name: string, steps: Record<string, unknown>[]): Promise<number> {
    const { body } = await world.api('POST', '/pipelines/server/1', { name, operation: 'custom' })
    for (const step of steps) await world.api('POST', `/pipelines/${body.id}/steps`, step)
    return body.id
  }
  const storedSteps = async (id: number): Promise<{ id: number; name: string; command: string }[]> =>
    (await world.api('GET', `/pipelines/${id}`)).body.steps
  const idOf = (page: Page) => Number(new URL(page.url()).pathname.split('/').at(-1))

  /** On the page, in its plan, and as the API has them. */
  async function stepsAre(page: Page, names: string[]): Promise<void> {
    const shown = page.locator('[data-step] strong')
    const plan = page.getByRole('region', { name: 'Plan' }).locator('li')
    const read = async (texts: Locator) => (await texts.allInnerTexts()).join()
    await until(`the steps are ${names}`, 10_000, async () => {
      const stored = (await storedSteps(idOf(page))).map(({ name }) => name).join()
      return [stored, await read(shown), await read(plan)].every((one) => one === names.join())
    })
  }

  async function chooseFromMenu(page: Page, step: string, item: string): Promise<void> {
    await page.getByRole('button', { name: `More actions for ${step}` }).click()
    await page.getByRole('menuitem', { name: item }).click()
  }

  async function enterCommand(page: Page, text: string): Promise<void> {
    await page.locator('.cm-content[aria-label="Command"]').click()
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.press('Delete')
    await page.keyboard.insertText(text)
  }

  it('are built with the mouse: a deploy with one more step, its settings, and a plan that follows', async () => {
    const { page, errors, close } = await openPage(world, '/app/pipelines')
    await page.getByRole('button', { name: 'Add pipeline' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Add pipeline' }).click()
    await page.getByRole('heading', { level: 1, name: 'Deploy Hello Gantry' }).waitFor()
    await stepsAre(page, DEPLOY)

    await chooseFromMenu(page, 'build-application', 'Add step after')
    await page.getByLabel('Name', { exact: true }).fill('get-new-release')
    await enterCommand(page, 'echo migrated')
    await page.getByRole('button', { name: 'Add step' }).click()
    await page.getByText('Is the name of a built-in step.').waitFor()
    await page.getByLabel('Name', { exact: true }).fill('migrate')
    await page.getByRole('button', { name: 'Add step' }).click()
    await page.getByText('Step migrate added.').waitFor()
    await stepsAre(page, DEPLOY.toSpliced(4, 0, 'migrate'))

    await page.getByRole('button', { name: 'Edit remove-old-releases' }).click()
    await page.getByLabel('Timeout (seconds)').fill('30')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('timeout 30 s').waitFor()

    await page.getByRole('button', { name: 'Edit settings' }).click()
    await dialog.getByLabel('Name').fill('Deploy by mouse')
    await dialog.getByLabel('Max concurrent runs').fill('3')
    await dialog.getByLabel('When busy').selectOption('latest')
    await dialog.getByLabel('Rollout').selectOption('batches')
    await dialog.getByLabel('Batch size').fill('some')
    await dialog.getByLabel('Health check').selectOption('http')
    await dialog.getByLabel('URL').fill('http://user@127.0.0.1:3000/health')
    await dialog.getByRole('combobox', { name: 'Run after' }).click()
    await page.getByRole('option', { name: 'Two steps' }).click()
    await page.keyboard.press('Escape')
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await dialog.getByText('a percentage such as "25%"').waitFor()
    await dialog.getByLabel('Batch size').fill('25%')
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await dialog.getByText('Must not contain a username or password').first().waitFor()
    assert.deepEqual(await findViolations(page), [])
    await dialog.getByLabel('URL').fill('http://127.0.0.1:3000/health')
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('heading', { level: 1, name: 'Deploy by mouse' }).waitFor()
    const { body } = await world.api('GET', `/pipelines/${idOf(page)}`)
    assert.deepEqual(
      [body.max_parallel_actions, body.queue_policy, body.rollout, body.run_after],
      [3, 'latest', { batch: '25%', max_failed: 0, on_failure: 'stop' }, [world.pipelineId]],
    )

    await page.getByText('http://127.0.0.1:3000/health within 60 s').first().waitFor()
    await stepsAre(page, DEPLOY.toSpliced(4, 0, 'migrate').toSpliced(-1, 0, 'check-health'))
    assert.equal(await page.getByRole('button', { name: 'Edit check-health' }).count(), 0)

    await page.getByRole('button', { name: 'More actions', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await dialog.getByRole('button', { name: 'Remove pipeline' }).click()
    await page.getByRole('heading', { level: 1, name: 'Pipelines' }).waitFor()
    await page.getByRole('link', { name: 'Two steps' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'Deploy by mouse' }).count(), 0)
    assert.deepEqual(errors, [])
    await close()
  })

  it('are built with the keyboard alone: added, filled with steps, reordered, and a step removed', async () => {
    const { page, errors, close } = await openPage(world, '/app/pipelines')
    await isLoaded(page)
    const { keyboard } = page
    await tabTo(page, 'Add pipeline')
    await keyboard.press('Enter')
    await focusMovesTo(page, 'Name')
    await tabTo(page, 'Runs on', 'Shift+Tab')
    await keyboard.press('ArrowDown')
    const machine = page.getByRole('option', { name: /This machine/ })
    await machine.waitFor()
    await until('This machine is the option that Enter selects', 10_000, async () => {
      if ((await machine.getAttribute('data-combobox-selected')) !== null) return true
      await keyboard.press('ArrowDown')
      return false
    })
    await keyboard.press('Enter')
    await tabTo(page, 'Name')
    await keyboard.press('ControlOrMeta+a')
    await keyboard.type('Built by keyboard')
    await keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Built by keyboard' }).waitFor()

    for (const name of ['hello', 'world', 'again']) {
      await focusMovesTo(page, 'Name')
      await keyboard.type(name)
      await tabTo(page, 'Command')
      await keyboard.type(`echo ${name}`)
      await tabTo(page, 'Add step')
      await keyboard.press('Enter')
      await page.getByRole('region', { name: 'New step' }).waitFor({ state: 'detached' })
      await focusMovesTo(page, 'Add step')
      if (name !== 'again') await keyboard.press('Enter')
    }
    await stepsAre(page, ['hello', 'world', 'again'])
    assert.deepEqual(
      (await storedSteps(idOf(page))).map(({ command }) => command),
      ['echo hello', 'echo world', 'echo again'],
    )

    await tabTo(page, 'Reorder again', 'Shift+Tab')
    await keyboard.press('Space')
    await page.getByText('Picked up again, position 3 of 3.').waitFor({ state: 'attached' })
    // A press before the picked up step listens is lost; at the top, one more changes nothing.
    await until('again is over position 1', 20_000, async () => {
      await keyboard.press('ArrowUp')
      const top = page.getByText('again is over position 1 of 3.')
      return top.waitFor({ state: 'attached', timeout: 1_000 }).then(
        () => true,
        () => false,
      )
    })
    await keyboard.press('Space')
    await stepsAre(page, ['again', 'hello', 'world'])

    await tabTo(page, 'More actions for again')
    for (const position of [2, 3]) {
      await keyboard.press('Enter')
      await arrowTo(page, 'Move down')
      await keyboard.press('Enter')
      await page.getByText(`again is now step ${position} of 3.`).waitFor({ state: 'attached' })
      await focusMovesTo(page, 'More actions for again')
    }
    await stepsAre(page, ['hello', 'world', 'again'])

    await keyboard.press('Enter')
    await arrowTo(page, 'Remove')
    await keyboard.press('Enter')
    await focusMovesTo(page, 'Remove step')
    await keyboard.press('Enter')
    await focusMovesTo(page, 'Add step')
    await stepsAre(page, ['hello', 'world'])
    assert.deepEqual(errors, [])
    await close()
  })

  it('are reordered by dragging, between the built-in steps, and one step is duplicated', async () => {
    await world.api('POST', '/pipelines/1/steps', { name: 'migrate', command: 'true' })
    const { page, errors, close } = await openPage(world, '/app/pipelines/1')
    await stepsAre(page, [...DEPLOY, 'migrate'])
    await drag(page, 'migrate', 'activate-new-release')
    await stepsAre(page, DEPLOY.toSpliced(4, 0, 'migrate'))
    assert.equal(await page.getByRole('button', { name: /^Reorder/ }).count(), 1, 'built-in steps stay')

    await chooseFromMenu(page, 'migrate', 'Duplicate')
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'migrate 2')
    await page.getByRole('button', { name: 'Add step' }).click()
    await stepsAre(page, DEPLOY.toSpliced(4, 0, 'migrate', 'migrate 2'))
    assert.deepEqual(errors, [])
    await close()
  })

  it('show both versions when two people change one step; a moved step is no conflict', async () => {
    const id = await createPipeline('Two tabs', [
      { name: 'first', command: 'echo first' },
      { name: 'second', command: 'echo second' },
    ])
    const [first, second] = await storedSteps(id)
    const { page, errors, close } = await openPage(world, `/app/pipelines/${id}`)
    await page.getByRole('button', { name: 'Edit second' }).click()
    await enterCommand(page, 'echo mine')
    await world.api('PUT', `/pipelines/${id}/steps/${first!.id}`, { trigger_after: second!.id })
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Step second saved.').waitFor()
    assert.equal((await storedSteps(id))[0]!.command, 'echo mine')

    await page.getByRole('button', { name: 'Edit second' }).click()
    await enterCommand(page, 'echo mine again')
    await world.api('PUT', `/pipelines/${id}/steps/${second!.id}`, { command: 'echo theirs' })
    await page.getByRole('button', { name: 'Save changes' }).click()
    const both = page.getByRole('table', { name: 'Both versions' })
    await both.getByText('echo theirs').waitFor()
    await both.getByText('echo mine again').waitFor()
    assert.deepEqual(await findViolations(page), [])
    await page.getByRole('button', { name: 'Keep mine' }).click()
    await until('it is saved', 10_000, async () => (await storedSteps(id))[0]!.command === 'echo mine again')
    assert.deepEqual(errors, [])
    await close()
  })

  it('keep what was typed when Gantry goes away, also through a reload', async () => {
    const id = await createPipeline('Interrupted', [{ name: 'only', command: 'true' }])
    const { page, close } = await openPage(world, `/app/pipelines/${id}`)
    page.on('dialog', (dialog) => void dialog.accept())
    await page.getByRole('button', { name: 'Add step' }).click()
    await page.getByLabel('Name', { exact: true }).fill('typed')
    await enterCommand(page, 'echo "typed before the outage"')
    const start = await world.stop()
    await page.getByRole('button', { name: 'Add step' }).click()
    await page.getByRole('alert').getByText('Gantry is unreachable.').first().waitFor()
    await start()
    await page.reload()
    await page.getByText('Your unsaved changes were restored.').waitFor()
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'typed')
    await page.getByRole('button', { name: 'Edit only' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Keep editing' }).click()
    await page.getByRole('button', { name: 'Add step' }).click()
    await page.getByText('Step typed added.').waitFor()
    assert.equal((await storedSteps(id))[1]!.command, 'echo "typed before the outage"')
    await close()
  })

  it('tell viewers and custom roles why they cannot change them, and show what the API rejects', async () => {
    const id = await createPipeline('Restricted', [{ name: 'only', command: 'true' }])
    const viewer = await openPage(world, `/app/pipelines/${id}`, world.viewer)
    for (const button of ['Add step', 'Edit only', 'Edit settings', 'Run'])
      await isDisabledWithReason(viewer.page, button)
    await viewer.page.getByRole('button', { name: 'More actions', exact: true }).click()
    await viewer.page
      .getByRole('menuitem', { name: /Remove/ })
      .getByText('pipeline:remove')
      .waitFor()
    assert.equal(await viewer.page.getByRole('button', { name: /^Reorder/ }).count(), 0)
    await viewer.page.goto('/app/pipelines')
    await isDisabledWithReason(viewer.page, 'Add pipeline')
    assert.deepEqual(viewer.errors, [])
    await viewer.close()

    const permissions = ['project:view', 'environment:view', 'server:view', 'pipeline:view', 'pipeline:edit']
    const role = await world.api('POST', '/organizations/1/roles', { name: 'Editor of steps', permissions })
    const editor = await world.invite('steps@example.com', { name: 'Stefan', role_id: role.body.id })
    const { page, errors, close } = await openPage(world, `/app/pipelines/${id}`, editor)
    await isDisabledWithReason(page, 'Run')
    await page.getByRole('button', { name: 'Add step' }).click()
    await page.getByLabel('Name', { exact: true }).fill('mine')
    await enterCommand(page, 'true')
    await page.getByRole('button', { name: 'Add step' }).click()
    await page.getByText(/Only instance administrators decide/).waitFor()
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'mine')
    assert.deepEqual(errors, [])
    await close()
  })

  it('list their hooks and how each is doing, and add one for themselves', async () => {
    const id = await createPipeline('With hooks', [])
    const { page, errors, close } = await openPage(world, `/app/pipelines/${id}`)
    const card = page.getByRole('region', { name: 'Hooks' })
    await card.getByText('No hooks yet').waitFor()
    const hooks = `/pipelines/${id}/hooks`
    await world.api('POST', `${hooks}/incoming`, { name: 'Push' })
    const chat = { name: 'Chat', target_url: `${world.url}/nowhere`, active: false }
    await world.api('POST', `${hooks}/outgoing`, chat)
    await page.reload()
    const itemOf = (name: string) => card.getByRole('listitem').filter({ hasText: name })
    await itemOf('Push').getByText('Active').waitFor()
    await itemOf('Chat').getByText('Paused').waitFor()
    await itemOf('Push').getByRole('link').click()
    await page.getByRole('heading', { level: 1, name: 'Push' }).waitFor()
    await page.goBack()
    await card.getByRole('button', { name: 'Add hook' }).click()
    await page.getByRole('heading', { level: 1, name: 'Add hook' }).waitFor()
    assert.equal(new URL(page.url()).searchParams.get('pipeline'), String(id))
    assert.deepEqual(errors, [])
    await close()

    const viewer = await openPage(world, `/app/pipelines/${id}`, world.viewer)
    await isDisabledWithReason(viewer.page, 'Add hook')
    await viewer.close()
  })

  it('stay readable with fifty steps, long commands and names of 255 characters, and are accessible', async () => {
    const long = 'Löng <b>名前</b> '.repeat(30).slice(0, 255)
    const steps = Array.from({ length: 50 }, (_, index) => ({
      name: index === 0 ? long : `step ${index + 1}`,
      command: index === 1 ? 'x'.repeat(65_536) : 'echo one\n'.repeat(index + 1),
    }))
    const many = await createPipeline(long, steps)
    const few = await createPipeline('Three steps', steps.slice(0, 3))
    const [first] = await storedSteps(few)
    const { page, errors, close } = await openPage(world, `/app/pipelines/${many}`)
    await page.getByText('50 steps each').first().waitFor()
    await looksRight(page, 'fifty steps')
    await page.goto('/app/pipelines?add=1')
    await page.getByRole('dialog').getByLabel('Name').waitFor()
    await looksRight(page, 'a new pipeline')
    await page.goto(`/app/pipelines/${few}?step=${first!.id}`)
    await page.getByText('More options').first().waitFor()
    await looksRight(page, 'a step')
    await page.getByRole('button', { name: 'More actions for step 3' }).click()
    await page.getByRole('menuitem', { name: 'Move up' }).waitFor()
    await looksRight(page, 'the menu of a step')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Edit settings' }).click()
    await page.getByRole('dialog').getByLabel('Name').waitFor()
    await looksRight(page, 'the settings')
    await page.goto(`/app/pipelines/${many}`)
    await drag(page, 'step 4', 'step 3')
    await until('it comes before', 10_000, async () => (await storedSteps(many))[2]!.name === 'step 4')
    assert.deepEqual(errors, [])
    await close()
  })

  it('perform what writes.ts says', () => assertWrites(world, 'pipelines.browser.ts'))
})

/** By its handle, onto the row of another step. */
async function drag(page: Page, name: string, onto: string): Promise<void> {
  const handle = page.getByRole('button', { name: `Reorder ${name}`, exact: true })
  await handle.scrollIntoViewIfNeeded()
  const from = (await handle.boundingBox())!
  const to = (await page.locator('[data-step]', { hasText: onto }).first().boundingBox())!
  await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2)
  await page.mouse.down()
  await page.mouse.move(from.x + from.width / 2, to.y + to.height / 2, { steps: 10 })
  await page.mouse.up()
}
