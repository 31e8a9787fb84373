// What a User-Agent header says, in words: "Firefox 145 on Windows". A header can claim anything: this helps people to
// recognize their own sessions and proves nothing. Pure.

/** The first match counts: Edge and Opera claim to be Chrome, and all of them to be Safari. */
const CLIENTS: [name: string, version: RegExp][] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/(\d+)/],
  ['Opera', /\bOPR\/(\d+)/],
  ['Samsung Internet', /\bSamsungBrowser\/(\d+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /\b(?:Headless)?(?:Chrome|Chromium|CriOS)\/(\d+)/],
  ['Safari', /\bVersion\/(\d+)[\d.]* (?:Mobile\/\w+ )?Safari\//],
]

const SYSTEMS: [name: string, pattern: RegExp][] = [
  ['iOS', /\biPhone\b/],
  ['iPadOS', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['macOS', /\bMac OS X\b|\bMacintosh\b/],
  ['Linux', /\bLinux\b/],
]

const MAX_LENGTH = 60

export function describeUserAgent(userAgent: string | null): string {
  const text = userAgent?.trim() ?? ''
  if (text === '') return 'Unknown client'
  const system = SYSTEMS.find(([, pattern]) => pattern.test(text))?.[0]
  for (const [name, pattern] of CLIENTS) {
    const version = pattern.exec(text)?.[1]
    if (version !== undefined) return on(`${name} ${version}`, system)
  }
  // Programs name themselves first: "curl/8.5.0". A browser that is not listed says "Mozilla/5.0".
  const [, product, version] = /^([\w.-]+)(?:\/v?(\d+(?:\.\d+)?))?/.exec(text) ?? []
  if (product === undefined || product === 'Mozilla') return on('Unknown browser', system)
  return on([product.slice(0, MAX_LENGTH), version].filter(Boolean).join(' '), system)
}

function on(client: string, system: string | undefined): string {
  return system === undefined ? client : `${client} on ${system}`
}
