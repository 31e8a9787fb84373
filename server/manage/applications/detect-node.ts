import type { Snapshot } from '#adapters/repositories/snapshot.ts'

// What the detection of a build finds, and what its parts share. Pure.

export const LANGUAGES = [
  'nodejs',
  'php',
  'ruby',
  'python',
  'go',
  'rust',
  'java',
  'elixir',
  'static',
] as const

export type Detected = {
  language: (typeof LANGUAGES)[number] | null
  framework: string | null
  engine_version: string | null
  package_manager: string | null
  install_dependencies_command: string | null
  build_command: string | null
  shared_paths: string[]
}

/** What is left out is unknown. */
export type Build = Partial<Detected> & Pick<Detected, 'language'>

export function text({ contents }: Snapshot, name: string): string {
  return contents.get(name) ?? ''
}

/** The first name whose sign is in the text. */
export function matching(found: string, signs: Record<string, RegExp>): string | null {
  return Object.entries(signs).find(([, sign]) => sign.test(found))?.[0] ?? null
}

/** It is shown to people: only what looks like a version. */
export function version(found: string | undefined): string | null {
  return found !== undefined && /^[\w.*<>=^~| -]{1,60}$/.test(found) ? found : null
}

export const NODE_FILES = ['package.json', '.nvmrc', '.node-version']

type Manager = { name: string; install: string; build: string }

const NPM: Manager = { name: 'npm', install: 'npm install', build: 'npm run build' }
/** By lock file; the first that is there. */
const MANAGERS: [file: string, manager: Manager][] = [
  ['pnpm-lock.yaml', { name: 'pnpm', install: 'pnpm install --frozen-lockfile', build: 'pnpm run build' }],
  ['yarn.lock', { name: 'yarn', install: 'yarn install --frozen-lockfile', build: 'yarn run build' }],
  ['bun.lock', { name: 'bun', install: 'bun install --frozen-lockfile', build: 'bun run build' }],
  ['bun.lockb', { name: 'bun', install: 'bun install --frozen-lockfile', build: 'bun run build' }],
  ['package-lock.json', { ...NPM, install: 'npm ci' }],
  ['npm-shrinkwrap.json', { ...NPM, install: 'npm ci' }],
]

/** Those that include others come first. */
const FRAMEWORKS: [dependency: string, framework: string][] = [
  ['next', 'nextjs'],
  ['nuxt', 'nuxt'],
  ['@sveltejs/kit', 'sveltekit'],
  ['@remix-run/node', 'remix'],
  ['astro', 'astro'],
  ['gatsby', 'gatsby'],
  ['@nestjs/core', 'nestjs'],
  ['@angular/core', 'angular'],
  ['fastify', 'fastify'],
  ['express', 'express'],
  ['vite', 'vite'],
]

export function detectNode(snapshot: Snapshot): Build | undefined {
  if (!snapshot.files.has('package.json')) return undefined
  const described = readPackage(snapshot)
  const { name, install, build } = managerOf(snapshot)
  const dependencies = { ...described.devDependencies, ...described.dependencies }
  const pinned = text(snapshot, '.nvmrc') || text(snapshot, '.node-version')
  return {
    language: 'nodejs',
    framework: FRAMEWORKS.find(([dependency]) => Object.hasOwn(dependencies, dependency))?.[1] ?? null,
    engine_version: version(pinned.trim().replace(/^v(?=\d)/, '')) ?? version(described.engines.node),
    package_manager: name,
    install_dependencies_command: install,
    build_command: hasBuild(described) ? build : null,
  }
}

/** How an application in another language builds its pages, if it does so with Node. */
export function nodeAssets(snapshot: Snapshot): string | null {
  if (!hasBuild(readPackage(snapshot))) return null
  const { install, build } = managerOf(snapshot)
  return `${install} && ${build}`
}

function managerOf({ files }: Snapshot): Manager {
  const found = MANAGERS.find(([file]) => files.has(file))?.[1] ?? NPM
  // From its second version on, yarn has this file.
  return found.name === 'yarn' && files.has('.yarnrc.yml')
    ? { ...found, install: 'yarn install --immutable' }
    : found
}

type Package = Record<'scripts' | 'dependencies' | 'devDependencies' | 'engines', Record<string, string>>

const hasBuild = ({ scripts }: Package) => typeof scripts.build === 'string'

/** Anything may be in there. */
function readPackage(snapshot: Snapshot): Package {
  const found = parse(text(snapshot, 'package.json'))
  const object = (name: string) => {
    const pairs = Object.entries(Object(found[name]) as object).filter(
      ([, value]) => typeof value === 'string',
    )
    return Object.fromEntries(pairs) as Record<string, string>
  }
  return {
    scripts: object('scripts'),
    dependencies: object('dependencies'),
    devDependencies: object('devDependencies'),
    engines: object('engines'),
  }
}

function parse(json: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(json))
  } catch {
    return {}
  }
}
