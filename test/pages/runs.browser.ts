// Starting runs, rolling back, finding runs, and looking at them, in a real browser in front of a real Gantry.
import assert from 'node:assert/strict'
import { mkdir, readlink, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '#test/support/until.ts'
import { isAccessible, looksRight } from './looks.ts'
import { focusIsOn, goTo, isDisabledWithReason, openPage, openPagesWorld, type PagesWorld } from './world.ts'
import { assertWrites } from './writes.ts'

describe('runs in the browser', () => {
  let world: PagesWorld
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    world = await openPagesWorld({ after: (end) => ends.push(end) })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  it('start only when every variable is valid; the errors name their lines', async () => {
    await world.openAll()
    const { page, errors, close } = await openPage(world, `/app/pipelines/${world.pipelineId}?run=1`)
    const dialog = page.getByRole('dialog', { name: 'Run Two steps' })
    await dialog.getByText('1 server, 2 steps each').waitFor()
    await dialog.getByLabel('Comment').fill('from the dialog')
    await dialog.getByLabel('Variables').fill('greeting=hello\nno equals sign\nGreeting=again')
    await dialog.getByRole('button', { name: 'Run' }).click()
    await dialog.getByText('Line 2 is not name=value. Line 3 repeats Greeting, which line 1 has').waitFor()
    await isAccessible(page, 'the run dialog with errors')
    assert.equal(await page.evaluate('document.activeElement.tagName'), 'TEXTAREA')
    assert.match(page.url(), /\?run=1$/)

    await dialog.getByLabel('Variables').fill('greeting=hello\nother=<b>1</b>')
    await dialog.getByText('Variables: greeting, other').waitFor()
    await dialog.getByRole('button', { name: 'Run' }).click()
    const toast = page
      .getByRole('alert')
      .getByText(/^(Queued|Started) Two steps #\d+$|^Two steps #\d+ completed$/)
    await toast.waitFor()
    await page.getByText('All targets completed.').waitFor()
    await page.getByText('from the dialog').waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('say what they wait for: in the plan, in the toast and on their page', async () => {
    await limitTo(world, 1)
    await world.close('speak')
    const first = await world.callHook({})
    await hasStatus(world, first, 'in-progress')
    const { page, errors, close } = await openPage(world, `/app/pipelines/${world.pipelineId}`)
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByRole('dialog').getByText(`Will queue behind #${first}`).waitFor()
    await isAccessible(page, 'a plan that waits')
    await page.getByRole('dialog').getByRole('button', { name: 'Run' }).click()
    await page.getByText(new RegExp(`^Two steps #\\d+ is waiting for #${first}$`)).waitFor()
    await page
      .getByText(`Waiting for other runs of this pipeline to finish. Running now: #${first}.`)
      .waitFor()
    assert.equal(await page.getByText(/^Started/).count(), 0)

    const run = new URL(page.url()).pathname
    await goTo(page, '/app/overview')
    await page.getByRole('region', { name: 'Waiting' }).getByText('Waiting: pipeline busy').waitFor()
    await goTo(page, run)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByText(/^Cancel(ed|ing) Two steps #\d+$/).waitFor()
    await world.openAll()
    await page.getByRole('button', { name: 'Retry' }).press('Enter')
    await dialogHasFocus(page, 'Retry')
    await page.keyboard.press('Enter')
    await page.getByText('All targets completed.').waitFor()
    await page.getByText('Retry of').waitFor()
    await limitTo(world, 0)
    assert.deepEqual(errors, [])
    await close()
  })

  it('deploy another branch, whose name the API checks at its input', async () => {
    const { page, close } = await openPage(world, '/app/pipelines/1?run=1')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Deploys branch main').waitFor()
    await dialog.getByLabel('Branch').fill('no..such name')
    await until('the input is invalid', 20_000, async () => {
      return (await dialog.getByLabel('Branch').getAttribute('aria-invalid')) === 'true'
    })
    await dialog.getByLabel('Source').selectOption('tag')
    await dialog.getByLabel('Tag').fill('')
    await dialog.getByRole('button', { name: 'Run' }).click()
    await dialog.getByText('Enter a tag.').waitFor()
    await close()
  })

  it('roll back to a chosen release, by keyboard alone', async () => {
    const first = await world.deploy()
    const { page, errors, close } = await openPage(world, `/app/actions/${first.id}`)
    const changes = page.getByRole('region', { name: 'Changes' })
    await changes.getByText('Nothing was live on these servers before.').waitFor()
    await page.getByRole('button', { name: 'Roll back' }).press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Roll back Deploy Hello Gantry' })
    await dialog.getByText('no release before the live one').waitFor()
    await page.keyboard.press('Escape')
    await focusIsOn(page, 'Roll back')

    const second = await world.deploy()
    const third = await world.deploy()
    await goTo(page, '/app/pipelines/1?rollback=1')
    await dialog.getByText(`To ${second.release}`).waitFor()
    const radio = (release: string) => dialog.getByRole('radio', { name: `Release ${release}` })
    assert.equal(await radio(third.release).isDisabled(), true)
    await until('the proposed release has the focus', 20_000, async () => {
      const focused = await page.evaluate('document.activeElement?.getAttribute("aria-label")')
      return focused === `Release ${second.release}`
    })
    await isAccessible(page, 'the rollback dialog')
    await page.keyboard.press('ArrowDown')
    await dialog.getByText(`To ${first.release}`).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.type('the one before broke')
    await page.keyboard.press('Enter')
    await page.getByText('All targets completed.').waitFor()
    await page.getByText('the one before broke').waitFor()
    await page.getByText(first.release).first().waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Deploy Hello Gantry', exact: true }).waitFor()
    assert.equal(await page.getByRole('dialog').count(), 0)
    assert.deepEqual(errors, [])
    await close()
  })

  it('leave a server unknown if it serves something else: the pages say so until it is known', async () => {
    const { id } = await world.deploy()
    const { body: action } = await world.api('GET', `/actions/${id}`)
    const applicationId = action.resource.data.id
    const { body: server } = await world.api('GET', '/servers/1')
    const { body: application } = await world.api('GET', `/applications/${applicationId}`)
    const current = join(server.root_directory, application.folder ?? 'hello-gantry', 'current')
    const target = await readlink(current)
    await rm(current)
    await mkdir(current)
    await world.api('POST', '/servers/1/check', {})
    const { page, errors, close } = await openPage(world, `/app/applications/${applicationId}`)
    const alert = page.getByRole('alert').filter({ hasText: 'Unknown on 1 server' })
    await alert.getByText('`current` is not a link.').waitFor()
    await alert.getByText(target.replace('releases/', '')).waitFor()
    await looksRight(page, 'an application whose live release is unknown')
    await goTo(page, '/app')
    const attention = page.getByRole('region', { name: 'Needs attention' })
    await attention.getByText('Live release unknown').waitFor()
    await isAccessible(page, 'an overview with a server that is unknown')
    await goTo(page, `/app/applications/${applicationId}`)
    await alert.waitFor()
    await rm(current, { recursive: true })
    await symlink(target, current)
    await world.api('POST', '/servers/1/check', {})
    await alert.waitFor({ state: 'detached' })
    assert.deepEqual(errors, [])
    await close()
  })

  it('that were reverted leave nothing to roll back: the healthy release stays', async () => {
    const { body: steps } = await world.api('GET', '/pipelines/1/steps')
    const activate = steps.find(({ name }: { name: string }) => name === 'activate-new-release')
    const verify = {
      name: 'verify',
      command: '! printenv GANTRY_VAR_VERDICT',
      trigger_after: activate.id,
    }
    const { body: step } = await world.api('POST', '/pipelines/1/steps', verify)
    await world.api('PUT', '/pipelines/1', { on_failure: 'revert' })
    const earlier = await world.deploy()
    const healthy = await world.deploy()
    const { body: bad } = await world.api('POST', '/pipelines/1/actions', { variables: { verdict: 'bad' } })
    await hasStatus(world, bad.id, 'failed')
    const live = async () => (await world.api('GET', '/applications/1/live')).body[0].release_name
    assert.equal(await live(), healthy.release)

    const { page, errors, close } = await openPage(world, `/app/actions/${bad.id}`)
    await page.getByRole('button', { name: 'Roll back' }).press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Roll back Deploy Hello Gantry' })
    await dialog.getByText(`Nothing to roll back: run #${bad.id} is not live.`).waitFor()
    await dialog.getByText(`Live now: ${healthy.release} (commit `).waitFor()
    await dialog.getByText(`run #${healthy.id}`).waitFor()
    assert.equal(await dialog.getByRole('button', { name: 'Roll back' }).count(), 0)
    assert.equal(await dialog.getByRole('radio').count(), 0)
    await focusIsOn(page, 'Close')
    await isAccessible(page, 'a rollback with nothing to undo')
    await page.keyboard.press('Enter')
    await focusIsOn(page, 'Roll back')
    const newest = (await world.api('GET', '/actions?per_page=1')).body[0].id
    assert.deepEqual([newest, await live()], [bad.id, healthy.release])

    await goTo(page, `/app/actions/${healthy.id}`)
    await page.getByRole('button', { name: 'Roll back' }).click()
    await dialog.getByText(`From ${healthy.release} #${healthy.id}`).waitFor()
    await dialog.getByText(`To ${earlier.release} #${earlier.id}`).waitFor()
    await isAccessible(page, 'a rollback of a run')
    await dialog.getByRole('button', { name: 'Roll back' }).click()
    await until('the earlier release is live', 20_000, async () => (await live()) === earlier.release)
    await world.api('DELETE', `/pipelines/1/steps/${step.id}`)
    assert.deepEqual(errors, [])
    await close()
  })

  it('roll back to a release that is on a server, from the page of the application', async () => {
    const earlier = await world.deploy()
    const latest = await world.deploy()
    const { page, errors, close } = await openPage(world, '/app/applications/1')
    const row = (release: string) => page.getByRole('row').filter({ hasText: release })
    await row(latest.release).getByText('Live', { exact: true }).waitFor()
    await row(latest.release)
      .getByText(/\d [KM]?B$/)
      .waitFor()
    assert.equal(await row(latest.release).getByRole('button').count(), 0)
    await page.getByLabel('Is this commit live?').fill('main')
    await page.getByRole('button', { name: 'Check', exact: true }).click()
    await page.getByText('Enter at least 7 digits of a commit hash.').waitFor()
    const { body } = await world.api('GET', '/applications/1/live')
    await page.getByLabel('Is this commit live?').fill(body[0].commit.hash.slice(0, 9))
    await page.getByRole('button', { name: 'Check', exact: true }).click()
    await page.getByLabel('Where the commit is live').getByText('Live', { exact: true }).waitFor()
    await isAccessible(page, 'the releases of an application')
    await row(earlier.release).getByRole('button', { name: 'Roll back to this' }).click()
    const dialog = page.getByRole('dialog', { name: 'Roll back Deploy Hello Gantry' })
    await dialog.getByText(`To ${earlier.release}`).waitFor()
    await dialog.getByRole('button', { name: 'Roll back' }).click()
    await page.getByText('All targets completed.').waitFor()
    await goTo(page, '/app/applications/1')
    await row(earlier.release).getByText('Live', { exact: true }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('are found by pipeline, application, person and time; each filter is in the URL and can be removed', async () => {
    const { page, errors, close } = await openPage(world, '/app/actions')
    await page.locator('[data-action]').first().waitFor()
    const total = await page.locator('[data-action]').count()
    const { body } = await world.api('GET', '/actions?filter[pipeline_id]=1&per_page=50')
    const deploys: number = body.length
    assert.ok(deploys > 1 && deploys < total)
    await page.getByRole('combobox', { name: 'Pipeline' }).fill('hello')
    await page.getByRole('option', { name: 'Deploy Hello Gantry' }).click()
    await page.getByText('Pipeline: Deploy Hello Gantry').waitFor()
    await rowsAre(page, deploys)
    await page.getByRole('combobox', { name: 'Person' }).click()
    await page.getByRole('option', { name: /\(you\)/ }).click()
    await page.getByText('Person: Administrator').waitFor()
    await page.getByLabel('Time').selectOption('24h')
    await page.getByRole('combobox', { name: 'Application or server' }).fill('this mach')
    await page.getByRole('option', { name: 'This machine' }).click()
    await page.getByText('No actions match these filters').waitFor()
    assert.match(page.url(), /pipeline=1&user=1&since=24h&resource=server%3A1/)
    await page.reload()
    await page.getByText('Server: This machine').waitFor()
    await page.getByRole('button', { name: 'Remove filter: Server' }).click()
    await rowsAre(page, deploys)
    await looksRight(page, 'the filters')
    await page.getByRole('button', { name: 'Clear' }).click()
    await rowsAre(page, total)
    assert.equal(new URL(page.url()).search, '')
    assert.deepEqual(errors, [])
    await close()
  })

  it('have links to lines of their logs, by mouse and by keyboard, through 60,000 lines', async () => {
    const id = await world.runWithLongLog()
    await hasStatus(world, id, 'completed')
    const { page, errors, close } = await openPage(world, `/app/actions/${id}`)
    const log = page.getByLabel(/^Log of/)
    await log.getByRole('link', { name: 'Line 3', exact: true }).click()
    await until('the URL links to it', 20_000, async () => /#step:\d+\.1:3$/.test(page.url()))
    await log.getByRole('link', { name: 'Line 5', exact: true }).click({ modifiers: ['Shift'] })
    await page.getByText('Lines 3–5').waitFor()
    assert.equal(await log.locator('[data-marked]').count(), 3)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByText('Line 6', { exact: true }).waitFor()
    await isAccessible(page, 'marked lines')

    const link = page.url().replace(/:6$/, ':60000-60010')
    await page.goto('/app/overview')
    await page.goto(link)
    const line = log.getByRole('link', { name: 'Line 60000' })
    await line.waitFor()
    await until('the line is in sight', 20_000, () => isInView(page, 'Line 60000'))
    assert.equal(await log.locator('[data-marked]').count(), 11)
    assert.ok((await log.locator('[data-index]').count()) < 300, 'only visible lines are rendered')
    assert.deepEqual(errors, [])
    await close()
  })

  it('show their notifications, which can be sent again, and the call, which can be replayed', async () => {
    await world.openAll()
    await createReceiver(world, 'Chat')
    const id = await world.callHook({ greeting: 'once more' })
    const { page, errors, close } = await openPage(world, `/app/actions/${id}`)
    await page.getByText('All targets completed.').waitFor()
    await page.getByRole('list', { name: 'Receivers' }).getByText('The receiver returned 404.').waitFor()
    const delivery = page.getByRole('row').filter({ hasText: 'Chat' }).first()
    await delivery.getByRole('button', { name: 'Redeliver' }).click()
    await page.getByText('Sending the delivery again.').waitFor()
    await delivery.getByRole('button', { name: 'Details' }).click()
    const drawer = page.getByRole('dialog')
    await drawer.getByRole('heading', { name: 'Request' }).waitFor()
    await looksRight(page, 'a notification')
    await page.keyboard.press('Escape')
    await focusIsOn(page, 'Details')
    await page.getByRole('link', { name: 'Details' }).click()
    await drawer.getByText('Received call').waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Replay' }).press('Enter')
    await dialogHasFocus(page, 'Replay')
    await page.keyboard.press('Enter')
    await page.getByText(/^The call to External service was replayed as #\d+\.$/).waitFor()
    await until('the new run is shown', 20_000, async () => !page.url().endsWith(`/${id}`))
    await page.getByText('greeting = once more').waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('are counted truly on the overview, whose numbers lead to the same filter', async () => {
    await createFailing(world, 21)
    const failed = (await world.api('GET', '/overview')).body.counts.failed_last_day
    assert.ok(failed > 20)
    const { page, errors, close } = await openPage(world, '/app/overview')
    const tile = page.locator('dl > div').filter({ has: page.getByRole('link', { name: 'Failed (24 h)' }) })
    await tile.getByText(new RegExp(`^${failed}\\b`)).waitFor()
    const attention = page.getByRole('region', { name: 'Needs attention' })
    await attention.getByRole('link', { name: /^Always fails #\d+$/ }).waitFor()
    assert.equal(
      await attention.getByRole('link', { name: /^Always fails #/ }).count(),
      1,
      'once for its pipeline',
    )
    // The list has those that were canceled or fixed, too.
    const all = (await world.api('GET', '/actions?filter[status]=failed&per_page=100')).body.length
    await page.getByRole('link', { name: 'Failed (24 h)' }).click()
    await rowsAre(page, all)
    assert.equal(new URL(page.url()).search, '?status=failed')
    await page.getByLabel('Time').selectOption('1h')
    await rowsAre(page, all)
    assert.deepEqual(errors, [])
    await close()
  })

  it('are out of reach for viewers and roles without the permission, with the reason', async () => {
    const role = await world.api('POST', '/organizations/1/roles', {
      name: 'Hook editors',
      permissions: [
        'organization:view',
        'project:view',
        'environment:view',
        'pipeline:view',
        'action:view',
        'hook:view',
        'hook:edit',
      ],
    })
    const editor = await world.invite('hooks@example.com', { name: 'Hedda Hooks', role_id: role.body.id })
    await createReceiver(world, 'Newer chat')
    const id = await world.callHook({})
    await hasStatus(world, id, 'completed')
    for (const [login, disabled] of [
      [world.viewer, ['Retry', 'Redeliver', 'Replay']],
      [editor, ['Retry', 'Replay']],
    ] as const) {
      const { page, errors, close } = await openPage(world, `/app/actions/${id}`, login)
      await page
        .getByRole('button', { name: /^Redeliver/ })
        .first()
        .waitFor()
      for (const name of disabled) await isDisabledWithReason(page, name)
      await goTo(page, '/app/pipelines/1?run=1')
      await isDisabledWithReason(page, 'Run')
      await isDisabledWithReason(page, 'Roll back')
      assert.deepEqual(errors, [])
      await close()
    }
  })

  it('perform the writing operations that this file stands for', () => assertWrites(world, 'runs.browser.ts'))
})

async function isInView(page: Page, label: string): Promise<boolean> {
  const box = await page.getByLabel(label, { exact: true }).boundingBox()
  return box !== null && box.y > 0 && box.y < page.viewportSize()!.height
}

async function hasStatus(world: PagesWorld, id: number, status: string): Promise<void> {
  await until(`#${id} is ${status}`, 20_000, async () => {
    return (await world.api('GET', `/actions/${id}`)).body.status === status
  })
}

async function limitTo(world: PagesWorld, max_parallel_actions: number): Promise<void> {
  await world.api('PUT', `/pipelines/${world.pipelineId}`, { max_parallel_actions })
}

/** It answers every delivery with 404. */
async function createReceiver(world: PagesWorld, name: string): Promise<void> {
  const target_url = `${world.url}/nowhere`
  await world.api('POST', `/pipelines/${world.pipelineId}/hooks/outgoing`, { name, target_url })
}

/** A pipeline that fails, and this many runs of it. */
async function createFailing(world: PagesWorld, count: number): Promise<void> {
  const pipeline = await world.api('POST', '/pipelines/server/1', {
    name: 'Always fails',
    operation: 'custom',
    max_parallel_actions: 0,
  })
  await world.api('POST', `/pipelines/${pipeline.body.id}/steps`, { name: 'fail', command: 'exit 3' })
  const ids: number[] = []
  for (let run = 0; run < count; run++)
    ids.push((await world.api('POST', `/pipelines/${pipeline.body.id}/actions`, {})).body.id)
  for (const id of ids) await hasStatus(world, id, 'failed')
}

async function rowsAre(page: Page, count: number): Promise<void> {
  await until(`${count} rows`, 20_000, async () => (await page.locator('[data-action]').count()) === count)
}

/** Opening the dialog that starts a new run moves the focus to its button, which has the name of the one that opens it. */
async function dialogHasFocus(page: Page, button: string): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Starts a new run').waitFor()
  await dialog.getByRole('button', { name: button }).and(page.locator(':focus')).waitFor()
}
