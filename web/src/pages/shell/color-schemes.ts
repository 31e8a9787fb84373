import { type MantineColorScheme, useMantineColorScheme } from '@mantine/core'

export const COLOR_SCHEMES = [
  { value: 'auto', label: 'Like the system' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
] as const

export function useColorScheme(): [MantineColorScheme, (value: string | null) => void] {
  // Suspending transitions would inject a style element, which the content security policy blocks.
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  return [colorScheme, (value) => setColorScheme(value as MantineColorScheme)]
}
