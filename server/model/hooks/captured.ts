import { MASK } from '#platform/masking/masked.ts'
import type { HookCapture } from './schemas.ts'

export type CapturedValue = string | number | boolean
export type CapturedValues = Readonly<Record<string, CapturedValue>>

/** For people: hidden values are masked. Pure. */
export function presentCaptured(
  values: CapturedValues,
  capture: readonly Pick<HookCapture, 'name' | 'hidden'>[],
): CapturedValues {
  const names = new Set(capture.filter(({ hidden }) => hidden).map(({ name }) => name))
  const entries = Object.entries(values)
  return Object.fromEntries(entries.map(([name, value]) => [name, names.has(name) ? MASK : value]))
}
