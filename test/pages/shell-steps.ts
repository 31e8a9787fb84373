// What tests do in the sidebar.
import type { Locator, Page } from 'playwright-core'

type Level = 'Organization' | 'Project' | 'Environment'

/** One control of the scope switcher. */
export function scopeLevel(page: Page, level: Level): Locator {
  return page.getByRole('group', { name: 'Scope' }).getByRole('combobox', { name: level, exact: true })
}

export async function selectScope(page: Page, level: Level, name: string): Promise<void> {
  await scopeLevel(page, level).click()
  await page.getByRole('option', { name, exact: true }).click()
}

export async function chooseInAccountMenu(page: Page, item: string): Promise<void> {
  await page.getByRole('button', { name: /^Account menu of/ }).click()
  await page.getByRole('menu').getByText(item, { exact: true }).click()
}
