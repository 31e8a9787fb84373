import type { Snapshot } from '#adapters/repositories/snapshot.ts'
import {
  type Build,
  type Detected,
  detectNode,
  matching,
  NODE_FILES,
  nodeAssets,
  text,
  version,
} from './detect-node.ts'

// What an application is written in, and how it is usually installed and built: a suggestion, made from the files in
// the top folder of its repository. Commands are constants: nothing that a repository says becomes part of one. Pure.

/** The files that decide, besides those of which only the name counts. */
export const WANTED_FILES = [
  ...NODE_FILES,
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

/** In this order: many applications build their pages with Node, so it comes last. */
const DETECTORS = [
  detectPhp,
  detectRuby,
  detectElixir,
  detectPython,
  detectGo,
  detectRust,
  detectJava,
  detectNode,
  detectStatic,
]

export function detectBuild(snapshot: Snapshot): Detected {
  for (const detect of DETECTORS) {
    const build = detect(snapshot)
    if (build) return { ...NOTHING_DETECTED, shared_paths: dotEnv(snapshot), ...build }
  }
  return NOTHING_DETECTED
}

function detectPhp(snapshot: Snapshot): Build | undefined {
  const { files } = snapshot
  if (!files.has('composer.json') && !files.has('index.php')) return undefined
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

function detectRuby(snapshot: Snapshot): Build | undefined {
  if (!snapshot.files.has('Gemfile')) return undefined
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

function detectElixir(snapshot: Snapshot): Build | undefined {
  if (!snapshot.files.has('mix.exs')) return undefined
  return {
    language: 'elixir',
    framework: matching(text(snapshot, 'mix.exs'), { phoenix: /\{:phoenix,/ }),
    package_manager: 'mix',
    install_dependencies_command: 'mix deps.get --only prod',
    build_command: 'MIX_ENV=prod mix release --overwrite',
  }
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

function detectPython(snapshot: Snapshot): Build | undefined {
  const found = PYTHON_INSTALLS.find(([file]) => snapshot.files.has(file))
  if (!found) return undefined
  const [, package_manager, install_dependencies_command] = found
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

function detectGo(snapshot: Snapshot): Build | undefined {
  if (!snapshot.files.has('go.mod')) return undefined
  return {
    language: 'go',
    engine_version: version(/^go[ \t]+(\S+)/m.exec(text(snapshot, 'go.mod'))?.[1]),
    install_dependencies_command: 'go mod download',
    build_command: 'mkdir -p bin && go build -o bin/ ./...',
  }
}

function detectRust(snapshot: Snapshot): Build | undefined {
  if (!snapshot.files.has('Cargo.toml')) return undefined
  const locked = snapshot.files.has('Cargo.lock') ? ' --locked' : ''
  return {
    language: 'rust',
    engine_version: version(text(snapshot, 'rust-toolchain').trim()),
    package_manager: 'cargo',
    install_dependencies_command: `cargo fetch${locked}`,
    build_command: `cargo build --release${locked}`,
  }
}

function detectJava({ files }: Snapshot): Build | undefined {
  if (files.has('pom.xml'))
    return {
      language: 'java',
      package_manager: 'maven',
      build_command: `${files.has('mvnw') ? './mvnw' : 'mvn'} --batch-mode package`,
    }
  if (!files.has('build.gradle') && !files.has('build.gradle.kts')) return undefined
  return {
    language: 'java',
    package_manager: 'gradle',
    build_command: `${files.has('gradlew') ? './gradlew' : 'gradle'} build`,
  }
}

function detectStatic({ files }: Snapshot): Build | undefined {
  return files.has('index.html') ? { language: 'static', shared_paths: [] } : undefined
}

/** An application that comes with an example of this file expects the file itself on each server. */
function dotEnv({ files }: Snapshot): string[] {
  return ['.env.example', '.env.sample', '.env.dist', '.env.template'].some((name) => files.has(name))
    ? ['.env']
    : []
}
