// npm run screenshots: takes the screenshots that the docs use, into docs/screenshots. With `-- --all` every page and
// dialog, light and dark, wide and narrow; `-- --only=hook` those whose name contains it, or
// matches it as a regular expression; `-- --to=folder` elsewhere.
// The data comes from a temporary Gantry.
import { mkdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { BrowserContext, Page } from 'playwright-core'
import { isLoaded, openPage } from '#test/pages/world.ts'
import { dialogPictures } from './screenshots/dialogs.ts'
import { beautify } from './screenshots/display.ts'
import { type Installation, setUp } from './screenshots/installation.ts'
import { pagePictures } from './screenshots/pages.ts'
import type { Picture } from './screenshots/prepare.ts'
import { rarePictures } from './screenshots/rare.ts'

/** The ones that README and docs show. */
const USED = [
  'action-failed-light-wide',
  'actions-light-wide',
  'hook-call-light-wide',
  'new-application-light-wide',
  'overview-dark-wide',
  'overview-light-wide',
]

const SIZES = [
  { name: 'wide', width: 1440, height: 900 },
  { name: 'narrow', width: 390, height: 844 },
] as const
const SCHEMES = ['light', 'dark'] as const
const TIMEOUT_MS = 10_000

const { values: options } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    only: { type: 'string' },
    to: { type: 'string', default: fileURLToPath(new URL('../docs/screenshots', import.meta.url)) },
  },
})

const isWanted = (file: string) =>
  options.only ? new RegExp(options.only).test(file) : options.all || USED.includes(file)

const cleanups: (() => Promise<void>)[] = []
const failed: string[] = []
try {
  const installation = await setUp({ after: (cleanUp) => void cleanups.push(cleanUp) })
  await mkdir(options.to, { recursive: true })
  const signedIn = await openContext(installation, true)
  const signedOut = await openContext(installation, false)
  cleanups.push(async () => {
    for (const context of [signedIn, signedOut]) await context.unrouteAll({ behavior: 'ignoreErrors' })
  })
  for (const size of SIZES)
    for (const picture of picturesOf(installation)) {
      if (picture.isNarrowOnly && size.name === 'wide') continue
      const page = await (picture.isSignedOut ? signedOut : signedIn).newPage()
      await takePicture(page, picture, size)
      await page.close()
    }
} finally {
  for (const cleanUp of cleanups.toReversed()) await cleanUp()
}
if (failed.length > 0) {
  console.error(`Not taken: ${failed.join(', ')}`)
  process.exitCode = 1
}

function picturesOf(installation: Installation): Picture[] {
  return [pagePictures, dialogPictures, rarePictures].flatMap((pictures) => pictures(installation))
}

async function openContext(installation: Installation, isSignedIn: boolean): Promise<BrowserContext> {
  const { page } = await openPage(installation.world, '/app/overview', isSignedIn ? undefined : null)
  await beautify(page.context(), installation)
  await page.evaluate(`localStorage.setItem('gantry-setup-hidden', '1')`)
  return page.context()
}

/** One page in both color schemes: only its size changes what has to be done to get there. */
async function takePicture(page: Page, picture: Picture, size: (typeof SIZES)[number]): Promise<void> {
  const files = SCHEMES.map((colorScheme) => ({
    colorScheme,
    file: `${picture.name}-${colorScheme}-${size.name}`,
  })).filter(({ file }) => isWanted(file))
  if (files.length === 0) return
  try {
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
    await page.setViewportSize(size)
    page.setDefaultTimeout(TIMEOUT_MS)
    await page.goto(`/app${picture.path}`)
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    await isLoaded(page)
    await picture.prepare?.(page)
    if (!picture.isNeverLoaded) await isLoaded(page)
    // Not over anything: nothing looks hovered.
    await page.mouse.move(0, 0)
    const height = await page.evaluate('document.documentElement.scrollHeight')
    if (picture.isWhole)
      await page.setViewportSize({ ...size, height: Math.max(size.height, height as number) })
    for (const { colorScheme, file } of files) {
      await page.emulateMedia({ colorScheme })
      await page.screenshot({ path: `${options.to}/${file}.png`, scale: 'css' })
    }
    const width = (await page.evaluate('document.documentElement.scrollWidth')) as number
    if (width > size.width) throw new Error(`${width - size.width} px wider than the window`)
  } catch (error) {
    failed.push(`${picture.name}-${size.name}`)
    console.error(`${picture.name}-${size.name}: ${(error as Error).message}`)
    await page.screenshot({ path: `${options.to}/${picture.name}-${size.name}.failed.png` })
  }
}
