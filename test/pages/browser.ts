// One browser for all tests of the pages: Debian's Chromium, driven by playwright-core.
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
]

export function findChromium(): string {
  const found = [process.env.CHROMIUM, ...PATHS].find((path) => path !== undefined && existsSync(path))
  if (!found) throw new Error('no Chromium found: install it (apt-get install chromium) or set CHROMIUM')
  return found
}

export async function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: findChromium(),
    // Root and many containers cannot use it; the pages are our own.
    chromiumSandbox: false,
    args: ['--disable-dev-shm-usage', '--disable-gpu', '--no-first-run'],
  })
}
