s/syncCtx\.Terminate()/syncCtx.Terminate(context.TODO())/
s/syncCtx\.Sync()/syncCtx.Sync(context.TODO())/
