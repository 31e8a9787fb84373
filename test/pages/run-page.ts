// What a person does on the page of a run: roll back, and copy or download a log.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { it } from 'node:test'
import { findViolations } from './axe.ts'
import { focusIsOn, goTo, openPage, type PagesWorld } from './world.ts'

const NARROW = { width: 375, height: 740 }

export function testRunPage(theWorld: () => PagesWorld): void {
  it('roll back after showing the release, and say why when there is none to roll back to', async () => {
    const world = theWorld()
    const first = await world.deploy()
    const { page, errors, close } = await openPage(world, `/app/actions/${first.id}`)
    const dialog = page.getByRole('dialog', { name: 'Roll back to the previous release?' })
    await page.getByRole('button', { name: 'Roll back' }).press('Enter')
    await dialog.getByRole('alert').waitFor()
    await focusIsOn(page, 'Roll back')
    await page.keyboard.press('Enter')
    await dialog.getByRole('alert').waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await focusIsOn(page, 'Roll back')

    const second = await world.deploy()
    await page.setViewportSize(NARROW)
    await goTo(page, `/app/actions/${second.id}`)
    await page.getByRole('button', { name: 'Roll back' }).click()
    await dialog.getByText(first.release).waitFor()
    assert.equal(await dialog.getByRole('alert').count(), 0)
    assert.deepEqual(await findViolations(page), [])
    await dialog.getByRole('button', { name: 'Roll back' }).click()
    await page.getByText(`Roll back after #${second.id}`).waitFor()
    await page.getByText('All targets completed.').waitFor()
    assert.match(await page.getByRole('main').innerText(), /rollback commit/)
    assert.equal(await page.getByText(first.release).first().isVisible(), true)
    assert.equal(await page.getByRole('dialog').count(), 0)
    assert.deepEqual(errors, [])
    await close()
  })

  it('copy a log as plain text, and download it as printed under a descriptive name', async () => {
    const world = theWorld()
    await world.openAll()
    const id = await world.callHook({})
    const { page, errors, close } = await openPage(world, `/app/actions/${id}`)
    await page.getByText('No output').waitFor()
    for (const name of ['Copy', 'Download'])
      assert.equal(await page.getByRole('button', { name }).isDisabled(), true, name)

    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: /^speak/ }).click()
    await page.getByLabel('Log of speak on This machine').getByText('last words').waitFor()
    const copy = page.getByRole('button', { name: /^(Copy|Copied|Copy failed)$/ })
    const says = (text: string) => page.getByRole('status').getByText(text, { exact: true }).waitFor()
    await Promise.all([says('Copied'), copy.press('Enter')])
    const copied = await page.evaluate('navigator.clipboard.readText()')
    assert.equal(copied, 'first words\nred <b>not bold</b>\nlast words\n')
    // What is not granted is then denied.
    await page.context().clearPermissions()
    await page.context().grantPermissions(['notifications'])
    await Promise.all([says('Copy failed'), copy.click()])

    await page.context().clearPermissions()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ])
    assert.equal(download.suggestedFilename(), `action-${id}-speak-on-This-machine.log`)
    const printed = 'first words\n\x1b[31mred\x1b[0m <b>not bold</b>\nlast words\n'
    assert.equal(await readFile(await download.path(), 'utf8'), printed)
    assert.deepEqual(errors, [])
    await close()
  })
}
