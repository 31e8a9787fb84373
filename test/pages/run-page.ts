// What a person does with the log of a run: copy and download it.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { it } from 'node:test'
import { openPage, type PagesWorld } from './world.ts'

export function testRunPage(theWorld: () => PagesWorld): void {
  it('copy a log as plain text, and download it as printed under a descriptive name', async () => {
    const world = theWorld()
    await world.openAll()
    const id = await world.callHook({})
    const { page, errors, close } = await openPage(world, `/app/actions/${id}`)
    await page.getByText('All targets completed.').waitFor()
    await page.getByRole('button', { name: /^finish/ }).click()
    await page.getByText('No output').waitFor()
    for (const name of ['Copy', 'Download']) {
      const button = page.getByRole('button', { name: `${name} The log is empty.` })
      assert.equal(await button.getAttribute('aria-disabled'), 'true', name)
    }

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
