export * from '#http/refusals.ts'
