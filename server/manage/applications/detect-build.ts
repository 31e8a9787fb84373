import type { Snapshot } from '#adapters/repositories/snapshot.ts'

// What an application is written in, and how it is usually installed and built: a suggestion, made from the files in
// the top folder of its repository. Commands are constants: nothing that a repository says becomes part of one. Pure.

/** The files that decide, besides those of which only the name counts. */
export const WANTED_FILES = [
  ...['package.json', '.nvmrc', '.node-version'],
  ...['composer.json', 'Gemfile', '.ruby-version', 'requirements.txt', 'pyproject.toml', '.python-version'],
  ...['go.mod', 'rust-toolchain', 'mix.exs'],
]

export const NOTHING_DETECTED: Detected = {
  language: null,
  framework: null,
  engine_version: null,
  package_manager: null,
  install_dependencies_command: null,
  build_command: null,
  shared_paths: [],
}

const PIP = 'python3 -m venv .venv && .venv/bin/pip install'
/** The first that is there. */
const PYTHON_INSTALLS: [file: string, manager: string, command: string][] = [
  ['uv.lock', 'uv', 'uv sync --frozen --no-dev'],
  ['poetry.lock', 'poetry', 'poetry install --only main --no-interaction'],
  ['Pipfile.lock', 'pipenv', 'pipenv sync'],
  ['requirements.txt', 'pip', `${PIP} -r requirements.txt`],
  ['pyproject.toml', 'pip', `${PIP} .`],
]

type Detector = [markers: string[], detect: (snapshot: Snapshot) => Build]

/** By files that give the language away. In this order: many applications build their pages with Node, so it comes last. */
const DETECTORS: Detector[] = [
  [['composer.json', 'index.php'], detectPhp],
  [['Gemfile'], detectRuby],
  [['mix.exs'], detectElixir],
  [PYTHON_INSTALLS.map(([file]) => file), detectPython],
  [['go.mod'], detectGo],
  [['Cargo.toml'], detectRust],
  [['pom.xml', 'build.gradle', 'build.gradle.kts'], detectJava],
  [['package.json'], detectNode],
  [['index.html'], () => ({ language: 'static', shared_paths: [] })],
]

export function detectBuild(snapshot: Snapshot): Detected {
  const found = DETECTORS.find(([markers]) => markers.some((file) => snapshot.files.has(file)))
  if (!found) return NOTHING_DETECTED
  return { ...NOTHING_DETECTED, shared_paths: dotEnv(snapshot), ...found[1](snapshot) }
}

function detectPhp(snapshot: Snapshot): Build {
  const { files } = snapshot
  const composer = text(snapshot, 'composer.json')
  const framework =
    matching(composer, { laravel: /"laravel\/framework"/, symfony: /"symfony\/framework-bundle"/ }) ?? null
  const install = 'composer install --no-dev --no-interaction --prefer-dist --optimize-autoloader'
  const shared = { laravel: ['.env', 'storage/'], symfony: ['.env.local', 'var/log/'] }[framework ?? '']
  return {
    language: 'php',
    framework,
    engine_version: version(/"php"\s*:\s*"([^"]*)"/.exec(composer)?.[1]),
    ...(files.has('composer.json') && { package_manager: 'composer', install_dependencies_command: install }),
    build_command: nodeAssets(snapshot),
    ...(shared && { shared_paths: shared }),
  }
}

function detectRuby(snapshot: Snapshot): Build {
  const gemfile = text(snapshot, 'Gemfile')
  const framework = matching(gemfile, {
    rails: /^[ \t]*gem[ \t]+["']rails["']/m,
    sinatra: /^[ \t]*gem[ \t]+["']sinatra["']/m,
  })
  const frozen = snapshot.files.has('Gemfile.lock') ? 'bundle config set --local deployment true && ' : ''
  return {
    language: 'ruby',
    framework,
    engine_version: version(
      text(snapshot, '.ruby-version')
        .trim()
        .replace(/^ruby-/, ''),
    ),
    package_manager: 'bundler',
    install_dependencies_command: `${frozen}bundle install`,
    ...(framework === 'rails' && {
      build_command: 'RAILS_ENV=production bundle exec rails assets:precompile',
      shared_paths: ['config/master.key', 'log/', 'storage/'],
    }),
  }
}

function detectElixir(snapshot: Snapshot): Build {
  return {
    language: 'elixir',
    framework: matching(text(snapshot, 'mix.exs'), { phoenix: /\{:phoenix,/ }),
    package_manager: 'mix',
    install_dependencies_command: 'mix deps.get --only prod',
    build_command: 'MIX_ENV=prod mix release --overwrite',
  }
}

function detectPython(snapshot: Snapshot): Build {
  const found = PYTHON_INSTALLS.find(([file]) => snapshot.files.has(file))
  const [, package_manager, install_dependencies_command] = found!
  const named = `${text(snapshot, 'requirements.txt')}\n${text(snapshot, 'pyproject.toml')}`
  return {
    language: 'python',
    framework: matching(named, {
      django: /^[ \t"']*django\b/im,
      fastapi: /^[ \t"']*fastapi\b/im,
      flask: /^[ \t"']*flask\b/im,
    }),
    engine_version: version(text(snapshot, '.python-version').trim()),
    package_manager,
    install_dependencies_command,
  }
}

function detectGo(snapshot: Snapshot): Build {
  return {
    language: 'go',
    engine_version: version(/^go[ \t]+(\S+)/m.exec(text(snapshot, 'go.mod'))?.[1]),
    install_dependencies_command: 'go mod download',
    build_command: 'mkdir -p bin && go build -o bin/ ./...',
  }
}

function detectRust(snapshot: Snapshot): Build {
  const locked = snapshot.files.has('Cargo.lock') ? ' --locked' : ''
  return {
    language: 'rust',
    engine_version: version(text(snapshot, 'rust-toolchain').trim()),
    package_manager: 'cargo',
    install_dependencies_command: `cargo fetch${locked}`,
    build_command: `cargo build --release${locked}`,
  }
}

function detectJava({ files }: Snapshot): Build {
  if (files.has('pom.xml'))
    return {
      language: 'java',
      package_manager: 'maven',
      build_command: `${files.has('mvnw') ? './mvnw' : 'mvn'} --batch-mode package`,
    }
  return {
    language: 'java',
    package_manager: 'gradle',
    build_command: `${files.has('gradlew') ? './gradlew' : 'gradle'} build`,
  }
}

/** An application that comes with an example of this file expects the file itself on each server. */
function dotEnv({ files }: Snapshot): string[] {
  return ['.env.example', '.env.sample', '.env.dist', '.env.template'].some((name) => files.has(name))
    ? ['.env']
    : []
}

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

export function detectNode(snapshot: Snapshot): Build {
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
