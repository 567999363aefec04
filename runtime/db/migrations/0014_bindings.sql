-- Up Migration

-- Apps have bindings, too.
ALTER TABLE function_bindings RENAME TO bindings;
