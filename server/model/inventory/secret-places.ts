/** What sealed values of the inventory are bound to (crypto/secret-box.ts). */
export const credentialPlace = (id: number) => `credentials/${id}/secret`
export const variablePlace = (id: number) => `application_variables/${id}/value`
