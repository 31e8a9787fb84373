// The page where people enter the code of a machine without a browser, with the real command line on the other side.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { CLI, openShell, USERS_NODE } from '#test/support/cli.ts'
import { openTerminal } from '#test/support/terminal.ts'
import type { AccountsWorld } from './accounts-world.ts'
import { openPage } from './world.ts'

export function testDevicePage(theWorld: () => AccountsWorld): void {
  it('signs in `gantry login` on a machine without a browser, by keyboard', async (t) => {
    const { createPerson, url } = theWorld()
    const person = await createPerson('Dana Device')
    const { env } = await openShell(t)
    const terminal = await openTerminal(t, [USERS_NODE, CLI, 'login', url], { env })
    const code = /[A-Z]{4}-[A-Z]{4}/
    const [typed] = code.exec(await terminal.sees(code))!
    const { page, errors, close } = await openPage(theWorld(), '/app/device', person)
    await page.getByLabel('Code').fill(typed.toLowerCase())
    await page.keyboard.press('Enter')
    await page.getByText('Did you get this code from another person?').waitFor()
    const text = page.getByRole('main')
    for (const shown of [person.email, url, '127.0.0.1', '90 days'])
      await text.getByText(shown).first().waitFor()
    await page.getByRole('button', { name: 'Approve' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('Approved. Return to your terminal').waitFor()
    assert.equal(await terminal.ended, 0)
    await terminal.sees(`Signed in to ${url} as ${person.email}.`)
    assert.deepEqual(errors, [])
    await close()
  })

  it('says that a code is wrong, and denies a machine, which hears of it', async () => {
    const { createPerson, callAs } = theWorld()
    const person = await createPerson('Dora Denier')
    const { body } = await callAs(undefined, 'POST', '/session/device-codes', { name: 'build-7' })
    const { page, close } = await openPage(theWorld(), '/app/device', person)
    await page.getByLabel('Code').fill('BCDF-BCDF')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('is not the code of a login that waits').waitFor()
    await page.getByLabel('Code').fill(body.user_code)
    await page.getByText('is not the code of a login that waits').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('build-7').first().waitFor()
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.getByText('Denied: the machine has no access.').waitFor()
    const { device_code } = body
    const answer = await callAs(undefined, 'POST', '/session/device-codes/token', { device_code })
    assert.equal(answer.body.code, 'access_denied')
    await close()
  })
}
