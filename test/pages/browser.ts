// One browser for all tests of the pages: Debian's Chromium, driven by playwright-core.
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
]

export function findChromium(): string {
  const found = [process.env.CHROMIUM, ...PLACES].find((path) => path !== undefined && existsSync(path))
  if (!found) throw new Error('no Chromium found: install it (apt-get install chromium) or set CHROMIUM')
  return found
}

export async function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: findChromium(),
    // Chromium refuses its sandbox to root; the pages of these tests are our own.
    chromiumSandbox: process.getuid?.() !== 0,
    args: ['--disable-dev-shm-usage', '--disable-gpu', '--no-first-run'],
  })
}
