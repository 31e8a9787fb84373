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
