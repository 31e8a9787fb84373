/** What is shown in the place of a secret, everywhere. */
export const MASK = '********'
