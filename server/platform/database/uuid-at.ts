/** The smallest UUID of version 7 of a moment (in milliseconds): ids that are smaller were made before. */
export function uuidAt(ms: number): string {
  const time = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`
}
