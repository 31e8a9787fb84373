import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

export type Commands = {
  programming_language?: string
  install_dependencies_command?: string
  build_command?: string
}

/** The files that tell a package manager, the first that exists wins. */
const NODE_LOCKS = [
  ['pnpm-lock.yaml', 'pnpm install --frozen-lockfile', 'pnpm run build'],
  ['yarn.lock', 'yarn install --frozen-lockfile', 'yarn run build'],
  ['bun.lock', 'bun install --frozen-lockfile', 'bun run build'],
  ['package-lock.json', 'npm ci', 'npm run build'],
  ['package.json', 'npm install', 'npm run build'],
] as const

const OTHERS: readonly (readonly [file: string, commands: Commands])[] = [
  [
    'composer.json',
    {
      programming_language: 'php',
      install_dependencies_command: 'composer install --no-dev --no-interaction --optimize-autoloader',
    },
  ],
  [
    'requirements.txt',
    {
      programming_language: 'python',
      install_dependencies_command:
        'python3 -m venv .venv\n.venv/bin/pip install --requirement requirements.txt',
    },
  ],
  ['Gemfile', { programming_language: 'ruby', install_dependencies_command: 'bundle install' }],
  ['go.mod', { programming_language: 'go', build_command: 'go build ./...' }],
]

/** From the files at the top of the folder: how dependencies are installed, and what builds it. */
export async function detectCommands(folder: string): Promise<Commands> {
  const files = await readdir(folder).catch((): string[] => [])
  if (files.includes('package.json')) {
    const [, install, build] = NODE_LOCKS.find(([file]) => files.includes(file))!
    const manifest = await readFile(join(folder, 'package.json'), 'utf8').catch(() => '')
    return {
      programming_language: 'nodejs',
      install_dependencies_command: install,
      ...(hasBuild(manifest) && { build_command: build }),
    }
  }
  return OTHERS.find(([file]) => files.includes(file))?.[1] ?? {}
}

function hasBuild(manifest: string): boolean {
  try {
    return typeof JSON.parse(manifest).scripts?.build === 'string'
  } catch {
    return false
  }
}
