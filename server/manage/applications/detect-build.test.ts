import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Snapshot } from '#adapters/repositories/snapshot.ts'
import { readSharedPaths } from '#model/deploy/shared-paths.ts'
import { detectBuild, WANTED_FILES } from './detect-build.ts'

function snapshotOf(found: Record<string, string>): Snapshot {
  const contents = new Map(Object.entries(found).filter(([name]) => WANTED_FILES.includes(name)))
  return { files: new Set(Object.keys(found)), folders: new Set(), contents }
}

/** Language, framework, version, install and build, in one line. */
function detected(found: Record<string, string>): string {
  const build = detectBuild(snapshotOf(found))
  assert.equal(readSharedPaths(build.shared_paths).kind, 'paths')
  const { language, framework, engine_version } = build
  const { install_dependencies_command: install, build_command } = build
  return [language, framework, engine_version, install, build_command, ...build.shared_paths].join(' | ')
}

const builds = JSON.stringify({
  scripts: { build: 'x' },
  dependencies: { next: '16' },
  engines: { node: '>=26' },
})

const CASES: [Record<string, string>, string][] = [
  [{ 'package.json': builds, 'package-lock.json': '' }, 'nodejs | nextjs | >=26 | npm ci | npm run build'],
  [
    { 'package.json': builds, 'pnpm-lock.yaml': '', '.nvmrc': 'v26.1.0\n', '.env.example': '' },
    'nodejs | nextjs | 26.1.0 | pnpm install --frozen-lockfile | pnpm run build | .env',
  ],
  [{ 'package.json': '{}', 'yarn.lock': '' }, 'nodejs |  |  | yarn install --frozen-lockfile | '],
  [
    { 'package.json': '{}', 'yarn.lock': '', '.yarnrc.yml': '' },
    'nodejs |  |  | yarn install --immutable | ',
  ],
  [{ 'package.json': 'no json' }, 'nodejs |  |  | npm install | '],
  [
    {
      'composer.json': '{"require": {"php": "^8.4", "laravel/framework": "^12"}}',
      'package.json': builds,
      'package-lock.json': '',
    },
    'php | laravel | ^8.4 | composer install --no-dev --no-interaction --prefer-dist --optimize-autoloader | npm ci && npm run build | .env | storage/',
  ],
  [
    { Gemfile: "gem 'rails', '~> 8.0'\n", 'Gemfile.lock': '', '.ruby-version': 'ruby-3.4.1\n' },
    'ruby | rails | 3.4.1 | bundle config set --local deployment true && bundle install | RAILS_ENV=production bundle exec rails assets:precompile | config/master.key | log/ | storage/',
  ],
  [
    { 'requirements.txt': 'Django==6.0\n' },
    'python | django |  | python3 -m venv .venv && .venv/bin/pip install -r requirements.txt | ',
  ],
  [{ 'pyproject.toml': '[project]', 'uv.lock': '' }, 'python |  |  | uv sync --frozen --no-dev | '],
  [
    { 'go.mod': 'module shop\n\ngo 1.26\n' },
    'go |  | 1.26 | go mod download | mkdir -p bin && go build -o bin/ ./...',
  ],
  [
    { 'Cargo.toml': '', 'Cargo.lock': '' },
    'rust |  |  | cargo fetch --locked | cargo build --release --locked',
  ],
  [{ 'pom.xml': '', mvnw: '' }, 'java |  |  |  | ./mvnw --batch-mode package'],
  [
    { 'mix.exs': '{:phoenix, "~> 1.8"}' },
    'elixir | phoenix |  | mix deps.get --only prod | MIX_ENV=prod mix release --overwrite',
  ],
  [{ 'index.html': '' }, 'static |  |  |  | '],
  [{ 'README.md': '' }, ' |  |  |  | '],
]

test('language, framework, version and commands are detected from the files in the top folder', () => {
  for (const [found, expected] of CASES) assert.equal(detected(found), expected)
})

test('nothing that a repository says becomes part of a command, and what is no version is not shown', () => {
  const evil = '$(touch /tmp/x); `id`'
  const hostile = JSON.stringify({
    packageManager: evil,
    scripts: { build: evil, constructor: evil },
    dependencies: { [evil]: evil, __proto__: null },
    engines: { node: evil },
  })
  const files = Object.fromEntries(WANTED_FILES.map((name) => [name, evil]))
  for (const found of [files, { 'package.json': hostile, '.nvmrc': evil }, { 'go.mod': `go ${evil}` }])
    assert.doesNotMatch(detected(found), /touch|`/)
  for (const json of ['null', '[]', '1', '{"scripts": null, "engines": [1]}', '{"scripts": {"build": {}}}'])
    assert.equal(detected({ 'package.json': json }), 'nodejs |  |  | npm install | ')
})

test('a file made to keep a pattern busy takes no time', () => {
  const began = performance.now()
  for (const filler of ['\n', ' ', '"', 'gem ', 'go \n', '"php"'])
    for (const name of WANTED_FILES) detected({ [name]: filler.repeat(250_000 / filler.length) })
  assert.ok(performance.now() - began < 2_000)
})
